/** A value is no plain data, or too deep or odd to copy quickly. */
export const NOT_PLAIN = Symbol("not plain");

/** Deeper values are written and read as JSON instead. */
const DEPTH_MAX = 32;

/**
 * A copy of plain data, each property read once: what a caller's getter or proxy answers later changes nothing. Equal to
 * `JSON.parse(JSON.stringify(value))`, which takes longer for small values; `NOT_PLAIN` for values that JSON writes in
 * another way than they are.
 */
export function copyPlain(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : NOT_PLAIN;
    case "object":
      if (value === null) return null;
      if (depth === DEPTH_MAX) return NOT_PLAIN;
      return Array.isArray(value) ? copyList(value, depth + 1) : copyObject(value, depth + 1);
    default:
      return NOT_PLAIN;
  }
}

function copyObject(value: object, depth: number): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return NOT_PLAIN;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const own = (value as Readonly<Record<string, unknown>>)[key];
    if (own === undefined) continue;
    // A function is not plain, also under the name `toJSON`.
    const copied = copyPlain(own, depth);
    if (copied === NOT_PLAIN || key === "__proto__") return NOT_PLAIN;
    copy[key] = copied;
  }
  return copy;
}

function copyList(value: readonly unknown[], depth: number): unknown {
  if (Object.getPrototypeOf(value) !== Array.prototype) return NOT_PLAIN;
  const copy: unknown[] = [];
  const { length } = value;
  for (let at = 0; at < length; at++) {
    const copied = copyPlain(value[at], depth);
    if (copied === NOT_PLAIN) return NOT_PLAIN;
    copy.push(copied);
  }
  return copy;
}
