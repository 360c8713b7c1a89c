import { valueIn } from "../../base/deadline.ts";
import type { RedisClient, RedisConnection } from "./connection.ts";

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
