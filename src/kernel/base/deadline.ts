/** Longest delay of a timer in milliseconds: Node fires a longer one at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * Waits for a promise, at most `ms`: a promise that depends on threads or tools may never settle. More than 24 days,
 * such as `Infinity`, means no deadline.
 */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  if (ms > TIMER_MAX_MS) return void (await promise);
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/** The promise's value. Rejects with the error made by `late` after `ms`. */
export async function inTime<Value>(ms: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** The promise's value; `undefined` if it fails or takes longer than `ms`. Never rejects. */
export function valueIn<Value>(ms: number, promise: Promise<Value>): Promise<Value | undefined> {
  return inTime(ms, promise, () => new Error("it is late")).catch(() => undefined);
}
