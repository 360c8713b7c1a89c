import { valueIn } from "../../base/deadline.ts";
import type { RedisClient, RedisConnection } from "./connection.ts";

/** First words of temporary errors, after which a retry may succeed. The command had no effect. */
const PASSING = new Set(["LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS"]);
const REFUSALS = new Set(["NOAUTH", "NOPERM", "WRONGPASS"]);

/** First word of an error reply of Redis, for example `WRONGPASS`; `undefined` where the error is not a reply. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  return /^[A-Z]{1,32}(?= |$)/.exec(error.message)?.[0] ?? "ERR";
}

/** Whether an error reply is temporary. */
export function isPassing(reply: string): boolean {
  return PASSING.has(reply);
}

/** Describes an error reply, or the last failure of a connection, for users of the store. */
export function wordsOfReply(reply: string): string {
  if (REFUSALS.has(reply)) return "refused the login: check the user and the password in its URL";
  if (PASSING.has(reply)) return "is busy: try again later";
  switch (reply) {
    case "OOM":
      return "is full: its maxmemory is reached";
    case "MISCONF":
      return "cannot be read or written";
    case "WRONGTYPE":
      return "is corrupt: a key holds another type of value";
    default:
      return `failed with the code ${reply}`;
  }
}

/** Describes a lost connection; `failure` is its cause. */
export function wordsOfLoss(failure: string): string {
  return REFUSALS.has(failure) ? wordsOfReply(failure) : `cannot be reached (${failure}): try again later`;
}

/** Describes an outage of Redis to an operator, without addresses; `null` while connected. */
export function describeLoss({
  isReady,
  lostForMs,
  failure,
}: Pick<RedisConnection, "isReady" | "lostForMs" | "failure">): string | null {
  if (isReady) return null;
  const since = new Date(Date.now() - lostForMs).toISOString();
  return `Redis has not been reached since ${since.slice(0, "2026-01-01T00:00:00".length)}Z (${failure})`;
}

/** Default timeout of a request whose sender can do without a reply, or retries later. */
const ANSWER_MS = 2_000;

/**
 * Reply of Redis; `undefined` without a connection, after an error, or after `ms`. Sends nothing without a connection,
 * because a pending request cannot be withdrawn. Never rejects.
 */
export async function answerOf<Answer>(
  connection: RedisConnection,
  ask: (client: RedisClient) => Promise<Answer>,
  ms = ANSWER_MS,
): Promise<Answer | undefined> {
  return connection.isReady ? valueIn(ms, (async () => ask(connection.client))()) : undefined;
}
