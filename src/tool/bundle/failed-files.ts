/** Paths of the files that a bundle read before it failed, by its error: whoever corrects one wants to try again. */
const files = new WeakMap<object, readonly string[]>();

/** Remembers them; returns the error. */
export function withFiles<Failure>(error: Failure, read: readonly string[]): Failure {
  if (typeof error === "object" && error !== null) files.set(error, read);
  return error;
}

/** Paths of the operator's files of which one may be the reason for an error; `[]` for any other error. */
export function filesOfFailure(error: unknown): readonly string[] {
  return (typeof error === "object" && error !== null ? files.get(error) : undefined) ?? [];
}
