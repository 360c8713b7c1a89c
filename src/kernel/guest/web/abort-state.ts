/** The abort state of a signal; the signal itself only exposes it. */
export class AbortState {
  aborted = false;
  reason: unknown = undefined;
  /** Functions to run when the signal aborts, before its event. */
  readonly steps = new Set<() => void>();
  /**
   * The signals that abort with this one, and the signals that this one follows: never ones with sources of their own.
   */
  readonly #followers = new Set<AbortState>();
  readonly #sources = new Set<AbortState>();
  readonly #fire: () => void;

  constructor(fire: () => void) {
    this.#fire = fire;
  }

  /** Aborts when another signal does, or when that signal's own sources do. */
  follow(other: AbortState): void {
    for (const source of other.#sources.size > 0 ? other.#sources : [other]) {
      source.#followers.add(this);
      this.#sources.add(source);
    }
  }

  /** A state without a signal, which aborts when this one does. */
  follower(): AbortState {
    const follower = new AbortState(() => undefined);
    follower.follow(this);
    return follower;
  }

  /** Aborts the signal and its followers: all of them count as aborted before the first listener runs. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    const all = [this, ...this.#followers];
    for (const state of all) state.#mark(reason);
    for (const state of all) {
      for (const step of state.steps) step();
      state.steps.clear();
      state.#fire();
    }
  }

  #mark(reason: unknown): void {
    this.aborted = true;
    this.reason = reason;
    for (const source of this.#sources) source.#followers.delete(this);
    this.#sources.clear();
  }
}
