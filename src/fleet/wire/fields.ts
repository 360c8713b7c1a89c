import { describeExcess, isObject } from "../../base/json.ts";
import { ProtocolError } from "../../base/protocol/wire.ts";

/** An object of which nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** Ids of members; names of inboxes contain them. */
const MEMBER = /^(?:server|machine)-[0-9a-f]{16}$/;
const KEY = /^[0-9a-f]{64}$/;
const SHORT_MAX = 1_024;
/** The last moment of JavaScript's dates; durations are shorter. */
const TIME_MAX_MS = 8.64e15;
/** What JSON text has none of, and what ends a line or a field where such text goes on to a worker. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u001f]/;

/** The value of JSON text. Throws a `ProtocolError` where it is invalid, or would take more memory than its length tells. */
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

/** A number of things, or a number by which one is called. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** One that is counted from 1. */
export function isStart(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

/** Milliseconds since the epoch, or of a duration; a quantity that need not be whole. */
export function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= TIME_MAX_MS;
}

/** As much as somebody likes. */
export function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Infinity;
}

/** Text of any length. */
export function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** A name. */
export function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length <= SHORT_MAX;
}

/** A digest. */
export function isKey(value: unknown): value is string {
  return typeof value === "string" && KEY.test(value);
}

/** A short form of an invalid value, for an error. */
export function briefly(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 16) ?? "none";
}

/** Whether JSON text can go on within a line. */
export function isLine(value: unknown): value is string {
  return typeof value === "string" && !CONTROL.test(value);
}
