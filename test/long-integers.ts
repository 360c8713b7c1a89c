import fc from "fast-check";

/** From a report of a program that passed `1915883588174806000` on, and so changed another object. */
export const ID = 1915883588174806058n;

const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 64n }),
);

/** How often a way is taken, and with how many integers at a time. */
interface Effort {
  readonly numRuns: number;
  readonly minLength: number;
  readonly maxLength: number;
}

const CHEAP: Effort = { numRuns: 15, minLength: 1, maxLength: 20 };
/** Of a way that starts a process each time, or an interpreter. */
export const DEAR: Effort = { numRuns: 2, minLength: 100, maxLength: 100 };

/** A property of random integers, and of one that did harm: `check` takes them on their way, and compares their digits. */
export function unchanged(check: (ids: readonly bigint[]) => Promise<void>, effort = CHEAP): () => Promise<void> {
  const { numRuns, ...lengths } = effort;
  return () => fc.assert(fc.asyncProperty(fc.array(integer, lengths), check), { numRuns, examples: [[[ID, -ID]]] });
}

/** JSON of a call's arguments. */
export function jsonOf(ids: readonly bigint[]): string {
  return `{"ids":[${ids.join(",")}]}`;
}

/** The value that the embedder gets for an integer. */
export function given(id: bigint): number | string {
  return id > 2n ** 53n - 1n || id < 1n - 2n ** 53n ? String(id) : Number(id);
}

/** The type that an integer has in an isolate. */
export function typeOf(id: bigint): "bigint" | "number" {
  return typeof given(id) === "string" ? "bigint" : "number";
}
