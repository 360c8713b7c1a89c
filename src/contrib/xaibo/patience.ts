/** Limits of a wait. */
export interface Patience {
  readonly ms: number;
  /** Subject of the error message: `the model's answer`. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
}

/** A wait timed out or was cancelled. */
class ImpatientError extends Error {
  override readonly name = "ImpatientError";
}

/**
 * Awaits a value until a timeout or an aborted signal. Rejects with an `ImpatientError` then, or with the promise's own
 * error; a later outcome of the promise is ignored.
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
