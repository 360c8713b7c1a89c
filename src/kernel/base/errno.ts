/**
 * The system's code of an error, such as `ENOENT`. If tests run in a separate context, as in Jest, Node's errors are no
 * instances of this context's `Error`.
 */
export function errnoOf(error: unknown): string | undefined {
  const isCoded = typeof error === "object" && error !== null && "code" in error;
  return isCoded && typeof error.code === "string" ? error.code : undefined;
}

/** Whether a call of the system failed. */
export function isOfSystem(error: unknown): boolean {
  return errnoOf(error) !== undefined && typeof error === "object" && error !== null && "syscall" in error;
}

/** The reason of a failed `fetch`: Node keeps it, such as `ECONNREFUSED`, in the cause of its error. */
export function reasonOfFetch(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  const code = errnoOf(error.cause);
  if (code !== undefined) return code;
  return error.name === "AbortError" || error.name === "TimeoutError" ? "it does not answer" : error.message;
}
