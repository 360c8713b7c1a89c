import type { RedisConnection } from "./connection.ts";

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
