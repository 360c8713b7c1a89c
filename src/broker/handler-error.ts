/** Maximum length of the part read of a handler's error, in characters. */
const MESSAGE_READ_MAX = 20_000;

/** Message of a handler's error, without paths of the host. The error may be any value. */
export function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    if (typeof message !== "string") return "its handler threw an error without a message";
    return message.slice(0, MESSAGE_READ_MAX).replaceAll(/(?:\/[\w.@-]+){2,}/g, "(path)");
  } catch {
    return "its handler threw an error that cannot be read";
  }
}
