/** How long somebody waits, and for what. */
export interface Patience {
  readonly ms: number;
  /** In words: `the model's answer`. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
}

/** Waited too long, or was told to wait no more. */
export class ImpatientError extends Error {
  override readonly name = "ImpatientError";
}

/**
 * What a promise gives, within a time and until a signal. Rejects with an `ImpatientError` then, and as the promise does;
 * what comes of the promise later is nobody's.
 */
export async function awaited<Value>(
  work: () => Value | Promise<Value>,
  { ms, what, signal }: Patience,
): Promise<Value> {
  const { promise: impatience, reject } = Promise.withResolvers<never>();
  const stop = () => reject(new ImpatientError(`${what} is not waited for any more: the call was cancelled`));
  const timer = setTimeout(() => reject(new ImpatientError(`${what} took longer than ${ms} ms`)), ms);
  if (signal?.aborted === true) stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([impatience, Promise.try(work)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
