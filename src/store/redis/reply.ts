import { valueIn } from "../../base/deadline.ts";
import type { RedisClient, RedisConnection } from "./connection.ts";

/** Replies, by their first word, upon which a moment later may go well. Nothing was done of what was asked. */
const PASSING = new Set(["LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS"]);
const REFUSALS = new Set(["NOAUTH", "NOPERM", "WRONGPASS"]);

/** The first word of an error that Redis replied, `WRONGPASS` for example; nothing where it did not reply. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  return /^[A-Z]{1,32}(?= |$)/.exec(error.message)?.[0] ?? "ERR";
}

/** Whether it is worth asking Redis again after this reply. */
export function isPassing(reply: string): boolean {
  return PASSING.has(reply);
}

/** What follows from a reply, or from the last word that was heard of a connection, for whoever relies on Redis. */
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

/** The same where there is no connection; `failure` is why. */
export function wordsOfLoss(failure: string): string {
  return REFUSALS.has(failure) ? wordsOfReply(failure) : `cannot be reached (${failure}): try again later`;
}

/** Since when Redis is not reached and why, in words for an operator that name no address; `null` where it is. */
export function describeLoss({
  isReady,
  lostForMs,
  failure,
}: Pick<RedisConnection, "isReady" | "lostForMs" | "failure">): string | null {
  if (isReady) return null;
  const since = new Date(Date.now() - lostForMs).toISOString();
  return `Redis has not been reached since ${since.slice(0, "2026-01-01T00:00:00".length)}Z (${failure})`;
}

/** What Redis may take to answer somebody who can do without, or asks again later. */
const ANSWER_MS = 2_000;

/**
 * What Redis answers; nothing where it is away, refuses, or takes longer than `ms`. While it is away it is not asked: what waits for
 * it cannot be taken back. Never rejects.
 */
export async function answerOf<Answer>(
  connection: RedisConnection,
  ask: (client: RedisClient) => Promise<Answer>,
  ms = ANSWER_MS,
): Promise<Answer | undefined> {
  return connection.isReady ? valueIn(ms, (async () => ask(connection.client))()) : undefined;
}
