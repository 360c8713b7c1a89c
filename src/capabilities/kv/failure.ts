import { replyOf } from "../../redis/reply.ts";
import { ForeignStoreError } from "./layout.ts";

/** Result codes of SQLite, of which the lowest byte says what kind they are. */
const BUSY = 5;
const LOCKED = 6;
const IO = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const CONSTRAINT = 19;
const NO_DATABASE = 26;

const BROKEN = "is broken: its file is not a database, or was damaged";
const BROKEN_IN_REDIS = "is broken: something else is kept in its place";

/** What is wrong with the store, in words for a tool: no path of the host is in them. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}

/** Somebody else writes just now: later it may go well. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === BUSY || code === LOCKED;
}

/** Whether the connection is still good after it. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  return isBusy(error) || code === FULL || code === CONSTRAINT;
}

/** The same for a tool. */
export function describeFailure(error: unknown): StoreError {
  return new StoreError(`the store ${wordsOf(error)}`, { cause: error });
}

/** Replies of Redis, by their first word, upon which a moment later may go well. */
const PASSING = new Set(["LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS"]);
const REFUSALS = new Set(["NOAUTH", "NOPERM", "WRONGPASS"]);

/** Whether it is worth asking Redis again: it is busy just now, or the connection was lost. */
export function isPassingInRedis(error: unknown): boolean {
  const word = replyOf(error);
  return word === undefined || PASSING.has(word);
}

/** What Redis failed with, for a tool. What came from its client has the command in it, with values, so it goes no further. */
export function describeRedisFailure(error: unknown): StoreError {
  return new StoreError(`the store ${redisWordsOf(replyOf(error))}`);
}

/** Why there is no connection to it, by the last word that was heard of it. */
export function describeUnreachable(word: string): StoreError {
  return new StoreError(`the store ${redisWordsOf(REFUSALS.has(word) ? word : undefined)}`);
}

function redisWordsOf(word: string | undefined): string {
  switch (word) {
    case undefined:
      return "cannot be reached";
    case "OOM":
      return "has no room left, for anybody: Redis has reached its maxmemory";
    case "MISCONF":
      return "cannot be read or written";
    case "WRONGTYPE":
      return BROKEN_IN_REDIS;
    default:
      if (REFUSALS.has(word)) return "cannot be opened: Redis does not let the engine in";
      return PASSING.has(word)
        ? "is in use by others for too long: try again later"
        : `failed with Redis's code ${word}`;
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof ForeignStoreError) return `cannot be used: ${error.message}`;
  // Values that are no JSON are not of our writing.
  if (error instanceof SyntaxError) return BROKEN;
  const code = codeOf(error);
  switch (code) {
    case undefined:
    case CANNOT_OPEN:
      return "cannot be opened";
    case FULL:
      return "has no room left, for anybody: its disk is full, or the maxBytes that the engine gives it is reached";
    case CORRUPT:
    case NO_DATABASE:
      return BROKEN;
    case IO:
      return "cannot be read or written";
    default:
      return `failed with SQLite's code ${code}`;
  }
}

function codeOf(error: unknown): number | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "errcode") : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}
