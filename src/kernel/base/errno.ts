/**
 * The system's code of an error, such as `ENOENT`. Where tests run in a context of their own, as Jest has it, Node's errors
 * are no instances of this context's `Error`.
 */
export function errnoOf(error: unknown): string | undefined {
  const isCoded = typeof error === "object" && error !== null && "code" in error;
  return isCoded && typeof error.code === "string" ? error.code : undefined;
}

/** Whether a call of the system failed. */
export function isOfSystem(error: unknown): boolean {
  return errnoOf(error) !== undefined && typeof error === "object" && error !== null && "syscall" in error;
}

/** Why a `fetch` failed: Node keeps the reason, such as `ECONNREFUSED`, in the cause of its error. */
export function reasonOfFetch(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  const code = errnoOf(error.cause);
  if (code !== undefined) return code;
  return error.name === "AbortError" || error.name === "TimeoutError" ? "it does not answer" : error.message;
}
