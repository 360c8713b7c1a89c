import { describeExcess, isObject } from "../../kernel/base/json.ts";
import { ProtocolError } from "../../kernel/base/protocol/wire.ts";

/** An object with unchecked fields. */
export type Fields = Readonly<Record<string, unknown>>;

/** Ids of members; names of inboxes contain them. */
const MEMBER = /^(?:server|machine)-[0-9a-f]{16}$/;
const KEY = /^[0-9a-f]{64}$/;
const SHORT_MAX = 1_024;
/** The latest time of a JavaScript `Date`; durations are shorter. */
const TIME_MAX_MS = 8.64e15;
/**
 * The value of JSON text. Throws a `ProtocolError` if it is invalid, or would take more memory than its length
 * suggests.
 */
export function readText(text: string, what: string): unknown {
  const excess = describeExcess(text);
  if (excess !== null) throw new ProtocolError(`${what} that is ${excess}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new ProtocolError(`${what} that is not JSON`);
  }
}

/** Whether a text can be the id of a server or a machine. */
export function isMember(value: unknown): value is string {
  return typeof value === "string" && MEMBER.test(value);
}

/** A list of objects of one kind. */
export function isListOf<Item>(
  list: unknown,
  isItem: (item: Fields) => item is Fields & Item,
): list is readonly Item[] {
  return Array.isArray(list) && list.every((item) => isObject(item) && isItem(item));
}

/** A non-negative integer: a count or an identifying number. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** A number that counts from 1. */
export function isStart(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

/** Milliseconds since the epoch or of a duration, or another bounded quantity with fractions. */
export function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= TIME_MAX_MS;
}

/** A finite, non-negative number without an upper bound. */
export function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Infinity;
}

/** Text of any length. */
export function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** A name of at most 1,024 characters. */
export function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length <= SHORT_MAX;
}

/** A SHA-256 digest in lowercase hexadecimal digits. */
export function isKey(value: unknown): value is string {
  return typeof value === "string" && KEY.test(value);
}

/** A short form of an invalid value, for an error. */
export function briefly(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 16) ?? "none";
}
