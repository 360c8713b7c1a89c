/**
 * Why a tool's code cannot be had, or not be put where machines find it.
 *
 * - `missing`: it is not there. Redis may have lost it; its server can publish it again.
 * - `damaged`: what is there is not what the reference names, or is sealed with another secret. Its server can write over it.
 * - `too_large`: a server wants to publish more than places take.
 * - `unreachable`: the place does not answer, or refuses.
 */
export type TextFailureKind = "missing" | "damaged" | "too_large" | "unreachable";

/** The message names neither hosts nor paths nor what opens them, so there is no `cause` either. */
export class TextFailure extends Error {
  override readonly name = "TextFailure";
  readonly kind: TextFailureKind;

  constructor(kind: TextFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}
