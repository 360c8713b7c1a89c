import { NESTING_MAX, pointerSegment, VALUES_MAX } from "../../kernel/base/json.ts";

interface Part {
  readonly value: unknown;
  readonly pointer: string;
  /** Enclosing values, innermost first. */
  readonly above: Above | null;
  readonly depth: number;
}

interface Above {
  readonly value: object;
  readonly above: Above | null;
}

/** Describes why JSON cannot represent a value without loss; `null` if it can. */
export function describeUnwritable(value: unknown): string | null {
  const open: Part[] = [{ value, pointer: "", above: null, depth: 0 }];
  for (let parts = 1; open.length > 0; parts++) {
    const part = open.pop();
    if (part === undefined) break;
    const wrong = describePart(part);
    if (wrong !== null) return `${part.pointer === "" ? "it" : part.pointer.slice(0, 500)} is ${wrong}`;
    if (parts + open.length > VALUES_MAX) return `it is made of more than ${VALUES_MAX} values`;
    if (typeof part.value !== "object" || part.value === null || "toJSON" in part.value) continue;
    const above = { value: part.value, above: part.above };
    for (const [key, inner] of Object.entries(part.value)) {
      open.push({ value: inner, pointer: part.pointer + pointerSegment(key), above, depth: part.depth + 1 });
    }
  }
  return null;
}

function describePart({ value, above, depth }: Part): string | null {
  if (depth > NESTING_MAX) return `nested deeper than ${NESTING_MAX} levels`;
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (typeof value === "bigint") return "a BigInt";
  for (let one = above; one !== null; one = one.above) {
    if (one.value === value) return "a part of itself";
  }
  return null;
}
