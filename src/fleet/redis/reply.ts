import { valueIn } from "../../kernel/base/deadline.ts";
import type { RedisClient, RedisConnection } from "./connection.ts";
import type { RedisProblem } from "../../kernel/store/outage.ts";
import { problemOf } from "./problem.ts";

/** First words of temporary errors, after which a retry may succeed. The command had no effect. */
const PASSING = new Set(["LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS"]);

/** First word of an error reply of Redis, for example `WRONGPASS`; `undefined` if the error is not a reply. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  return /^[A-Z]{1,32}(?= |$)/.exec(error.message)?.[0] ?? "ERR";
}

/** Whether an error reply is temporary. */
export function isPassing(reply: string): boolean {
  return PASSING.has(reply);
}

/** Describes an error reply for users of the store. */
export function wordsOfReply(reply: string): string {
  if (reply === "WRONGTYPE") return "is corrupt: a key holds another type of value";
  const problem = problemOf(reply);
  return problem.kind === "other" ? `failed with the code ${reply}` : wordsOfProblem(problem);
}

/** Describes a problem for users of the store: `cannot be reached (ECONNREFUSED): try again later`. */
export function wordsOfProblem({ what, code, remedy, isLasting }: RedisProblem): string {
  return `${what} (${code}): ${isLasting ? remedy : "try again later"}`;
}

/** Describes a lost connection for users of the store. */
export function wordsOfLoss({ problem, failure }: Pick<RedisConnection, "problem" | "failure">): string {
  return problem === null ? `cannot be reached (${failure}): try again later` : wordsOfProblem(problem);
}

/** Describes an outage of Redis, or its refusals, to an operator, without addresses; `null` if none exists. */
export function describeLoss({
  isReady,
  lostForMs,
  problem,
}: Pick<RedisConnection, "isReady" | "lostForMs" | "problem">): string | null {
  if (isReady) return problem && `Redis ${problem.what} (${problem.code}): ${problem.remedy}`;
  const since = new Date(Date.now() - lostForMs).toISOString().slice(0, "2026-01-01T00:00:00".length);
  const lost = `Redis has not been reached since ${since}Z`;
  if (problem === null) return lost;
  const what = problem.kind === "unreachable" ? "" : `it ${problem.what}; `;
  return `${lost} (${problem.code}): ${what}${problem.remedy}`;
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
