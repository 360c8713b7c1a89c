/** The reason for a server's missing answer. */
export interface McpFailure {
  /** For the caller: without secrets and paths of the host. */
  readonly message: string;
  /** Details for the operator, such as the end of the server's stderr. */
  readonly detail: string | null;
  /** Whether the same may succeed later. */
  readonly isTransient: boolean;
  /** Whether the server may have received the request, which may have had effects. */
  readonly isSent: boolean;
  /** Whether the server is busy: a retry is permitted later, after `retryAfterMs` if the server names a time. */
  readonly isBusy: boolean;
  /** Whether there is no token until a person logs in, or corrects the connector's options. */
  readonly needsLogin: boolean;
  readonly retryAfterMs: number | null;
}

const WORDS_MAX = 500;

/** An error in our own words, thrown on the way to a failure. */
export class McpError extends Error {
  override readonly name = "McpError";
  readonly failure: McpFailure;

  constructor(message: string, more: Partial<Omit<McpFailure, "message">> = {}) {
    super(message);
    this.failure = {
      message,
      detail: null,
      isTransient: true,
      isSent: true,
      isBusy: false,
      needsLogin: false,
      retryAfterMs: null,
      ...more,
    };
  }
}

/** Removes secrets from a text, before it is cut: half of a secret would not be found. */
export type Clean = (text: string) => string;

/** The words of a server, cut, and without line ends and invisible characters. `text`: without secrets. */
export function shownWords(text: string, max = WORDS_MAX): string {
  const line = text
    .slice(0, 4 * max)
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim();
  return line.length > max ? `${line.slice(0, max)}…` : line;
}

export function failed(message: string, more: Partial<Omit<McpFailure, "message">> = {}): McpFailure {
  return new McpError(message, more).failure;
}
