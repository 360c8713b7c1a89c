/**
 * Whether an ask only goes on with what an earlier one began: the next piece of a body, the next word of a handler that
 * tells how far it is. These are bounded by bytes and time like all asks, but they are no further capability calls.
 */
export function isContinuation(capability: string, method: string): boolean {
  if (capability === "fetch") return method === "read" || method === "cancel";
  return method.endsWith("$next") || method.endsWith("$end");
}

/** How many of these one call may make. */
export const CONTINUATIONS_MAX = 100_000;
