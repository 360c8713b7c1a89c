import { randomBytes } from "node:crypto";

const PREFIX_BYTES = 9;
/** Maximum length of a call's id. */
export const CALL_ID_MAX = 256;

/** Whether a value may be the id of a call. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= CALL_ID_MAX;
}

/** Ids of calls without an id from their caller. */
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
