/** The first word of an error that Redis replied, `WRONGPASS` for example; nothing where it did not reply. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  return /^[A-Z]{1,32}(?= |$)/.exec(error.message)?.[0] ?? "ERR";
}
