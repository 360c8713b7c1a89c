/** Waits for a promise, but never longer than `ms`: what depends on threads or tools may never end. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/** What a promise comes to, or else, after `ms`, the error of who is late. */
export async function inTime<Value>(ms: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** What a promise comes to; nothing where it fails, or takes longer than `ms`. Never rejects. */
export function valueIn<Value>(ms: number, promise: Promise<Value>): Promise<Value | undefined> {
  return inTime(ms, promise, () => new Error("it is late")).catch(() => undefined);
}
