/** Replies, by their first word, upon which a moment later may go well. Nothing was done of what was asked. */
const PASSING = new Set(["LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS"]);
const REFUSALS = new Set(["NOAUTH", "NOPERM", "WRONGPASS"]);

/** The first word of an error that Redis replied, `WRONGPASS` for example; nothing where it did not reply. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  return /^[A-Z]{1,32}(?= |$)/.exec(error.message)?.[0] ?? "ERR";
}

/** Whether it is worth asking Redis again after this reply. */
export function isPassing(reply: string): boolean {
  return PASSING.has(reply);
}

/** What follows from a reply, or from the last word that was heard of a connection, for whoever relies on Redis. */
export function wordsOfReply(reply: string): string {
  if (REFUSALS.has(reply)) return "does not let the engine in: look at the user and the password of its URL";
  if (PASSING.has(reply)) return "is in use by others for too long: try again later";
  switch (reply) {
    case "OOM":
      return "has no room left, for anybody: its maxmemory is reached";
    case "MISCONF":
      return "cannot be read or written";
    case "WRONGTYPE":
      return "is broken: something else is kept in its place";
    default:
      return `failed with the code ${reply}`;
  }
}

/** The same where there is no connection; `failure` is why. */
export function wordsOfLoss(failure: string): string {
  return REFUSALS.has(failure) ? wordsOfReply(failure) : `cannot be reached (${failure}): try again later`;
}
