import { DIGITS_MAX, digitsOf, isLongInteger, parseWritten, rawDigits } from "./exact-json.ts";
import { pointerSegment } from "./json.ts";

const BIGGEST = 10n ** BigInt(DIGITS_MAX - 1);

/** Whether an integer has at most 4,096 characters. To write a longer one as text could take seconds. */
export function isWritable(value: bigint): boolean {
  return value < BIGGEST && value > -BIGGEST;
}

/** A value that JSON cannot hold; the message has its place, and what to send instead. */
export class UnwritableError extends RangeError {
  override readonly name = "UnwritableError";
}

/** Values that `JSON.stringify` writes as `{}`, or by their indexes, by the tags of their classes. */
const LOST: ReadonlyMap<string, string> = new Map([
  ["[object Map]", "a Map; send Object.fromEntries(map)"],
  ["[object Set]", "a Set; send [...set]"],
  ["[object Error]", "an error; send its message"],
  ["[object Promise]", "a promise; await it"],
  ["[object RegExp]", "a regular expression; send its source"],
  ["[object ArrayBuffer]", 'bytes; send Buffer.from(bytes).toString("base64")'],
]);
const VIEW = 'bytes; send Buffer.from(bytes.buffer).toString("base64"), or [...bytes]';

/**
 * The reason why JSON would lose a value: its type, and what to send instead. `undefined` for a value that JSON keeps.
 */
function lossOf(value: unknown, holder: unknown): string | undefined {
  if (typeof value === "function" || typeof value === "symbol")
    return Array.isArray(holder) ? `a ${typeof value}, which JSON does not have` : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  return ArrayBuffer.isView(value) ? VIEW : LOST.get(Object.prototype.toString.call(value));
}

/** JSON of a value, which may have `bigint`s. Throws what `writeAny` and `JSON.stringify` throw. */
export function writeJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return writeAny(value);
  }
}

/** A deep copy of a JSON value. Unlike `structuredClone`, it keeps the digits of long integers. Throws what `writeAny` throws. */
export function copyJson<Value>(value: Value): Value {
  return parseWritten(writeJson(value) ?? "null") as Value;
}

/**
 * JSON of any value, as `JSON.stringify` writes it, with the digits of `bigint`s. Throws an `UnwritableError` with the
 * JSON pointer of a value that would be lost, such as a number that would become `null` or a `Map` that would become
 * `{}`. Also throws the errors of `JSON.stringify`.
 */
export function writeAny(value: unknown): string {
  const above: { readonly key: string; readonly value: unknown }[] = [];
  const pointer = (key: string): string => [...above.map((one) => one.key), key].slice(1).map(pointerSegment).join("");
  const write = function (this: unknown, key: string, member: unknown): unknown {
    while (above.length > 0 && above.at(-1)?.value !== this) above.pop();
    if (typeof member === "number" && !Number.isFinite(member))
      throw new UnwritableError(
        `${pointer(key)} is ${member}, which JSON does not have; send a number, a text or null`,
      );
    const loss = lossOf(member, this);
    if (loss !== undefined) throw new UnwritableError(`${pointer(key)} is ${loss}`);
    const digits = typeof member === "object" && member !== null ? digitsOf(member) : null;
    const isOverlong =
      digits === null
        ? typeof member === "bigint" && !isWritable(member)
        : digits.length > DIGITS_MAX && isLongInteger(digits);
    if (isOverlong)
      throw new UnwritableError(`${pointer(key)} is an integer of more than ${DIGITS_MAX} digits; send it as a text`);
    if (typeof member === "object" && member !== null) above.push({ key, value: member });
    return typeof member === "bigint" ? rawDigits(String(member)) : member;
  };
  return JSON.stringify(value, write);
}
