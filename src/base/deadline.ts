/** Waits for a promise, at most `ms`: a promise that depends on threads or tools may never settle. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
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
