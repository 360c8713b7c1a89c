/** What a signal knows about its abort; the signal itself only shows it. */
export class AbortState {
  aborted = false;
  reason: unknown = undefined;
  /** What is to be done when the signal aborts, before its event. */
  readonly steps = new Set<() => void>();
  /** The signals that abort when this one does, and the signals that this one follows: never ones that follow. */
  readonly #followers = new Set<AbortState>();
  readonly #sources = new Set<AbortState>();
  readonly #fire: () => void;

  constructor(fire: () => void) {
    this.#fire = fire;
  }

  /** Aborts when another signal does; or when the signals do that the other one follows. */
  follow(other: AbortState): void {
    for (const source of other.#sources.size > 0 ? other.#sources : [other]) {
      source.#followers.add(this);
      this.#sources.add(source);
    }
  }

  /** Aborts the signal and those that follow it: all of them count as aborted before the first listener runs. */
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
