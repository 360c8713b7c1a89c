import { NESTING_MAX } from "../../base/json.ts";

/** A value is no plain data, or too deep or odd to copy quickly. */
export const NOT_PLAIN = Symbol("not plain");
/** A value has more bytes of JSON than it may have. */
export const TOO_LARGE = Symbol("too large");

/** Bytes of JSON left to a copy; negative once the value is too large. */
interface Budget {
  leftBytes: number;
}

/**
 * A copy of plain data, each property read once: what a caller's getter or proxy answers later changes nothing. Equal to
 * `JSON.parse(JSON.stringify(value))`, which takes longer for small values; `NOT_PLAIN` for values that JSON writes in
 * another way than they are.
 *
 * Stops with `TOO_LARGE` after `maxBytes`, so that a value costs no more than its limit, however large it is. What is
 * counted is never more than what JSON would have: the copy of a value without ASCII may still be too large.
 */
export function copyPlain(value: unknown, maxBytes = Number.POSITIVE_INFINITY): unknown {
  const budget = { leftBytes: maxBytes };
  const copy = copyValue(value, 0, budget);
  return budget.leftBytes < 0 ? TOO_LARGE : copy;
}

function copyValue(value: unknown, depth: number, budget: Budget): unknown {
  switch (typeof value) {
    case "string":
      budget.leftBytes -= value.length + 2;
      return value;
    case "boolean":
      budget.leftBytes -= 4;
      return value;
    case "number":
      budget.leftBytes--;
      return Number.isFinite(value) ? value : NOT_PLAIN;
    case "object":
      if (value === null) {
        budget.leftBytes -= 4;
        return null;
      }
      // Deeper values, and those that contain themselves, are written and read as JSON instead.
      if (depth === NESTING_MAX) return NOT_PLAIN;
      budget.leftBytes--;
      return Array.isArray(value) ? copyList(value, depth + 1, budget) : copyObject(value, depth + 1, budget);
    default:
      return NOT_PLAIN;
  }
}

function copyObject(value: object, depth: number, budget: Budget): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return NOT_PLAIN;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const own = (value as Readonly<Record<string, unknown>>)[key];
    if (own === undefined) continue;
    // Quotes, a colon, and a comma or the closing brace.
    budget.leftBytes -= key.length + 4;
    // A function is not plain, also under the name `toJSON`.
    const copied = copyValue(own, depth, budget);
    if (copied === NOT_PLAIN || budget.leftBytes < 0) return NOT_PLAIN;
    if (key === "__proto__") define(copy, key, copied);
    else copy[key] = copied;
  }
  return copy;
}

/** Adds a member that an assignment would take for something else. */
function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function copyList(value: readonly unknown[], depth: number, budget: Budget): unknown {
  if (Object.getPrototypeOf(value) !== Array.prototype) return NOT_PLAIN;
  const copy: unknown[] = [];
  const { length } = value;
  for (let at = 0; at < length; at++) {
    budget.leftBytes--;
    const copied = copyValue(value[at], depth, budget);
    if (copied === NOT_PLAIN || budget.leftBytes < 0) return NOT_PLAIN;
    copy.push(copied);
  }
  return copy;
}
