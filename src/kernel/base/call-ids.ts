import { randomBytes } from "node:crypto";

const PREFIX_BYTES = 9;

/** Ids of calls whose callers give them none. */
export class CallIds {
  /**
   * Globally unique, and cheaper than a random id for each call. It begins with no hyphen: a command line would take the
   * id for an option.
   */
  readonly #prefix = randomBytes(PREFIX_BYTES).toString("base64url").replace(/^-/, "_");
  #last = 0;

  next(): string {
    return `${this.#prefix}-${++this.#last}`;
  }
}
