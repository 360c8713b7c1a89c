/**
 * Running calls that share a signal, such as those of a batch. They share a listener, because adding one to a signal
 * takes time proportional to the number of its listeners.
 */
export class AbortGroup<Call> {
  readonly signal: AbortSignal;
  readonly #cancel: (call: Call) => void;
  readonly #calls = new Set<Call>();

  constructor(signal: AbortSignal, cancel: (call: Call) => void) {
    this.signal = signal;
    this.#cancel = cancel;
  }

  add(call: Call): void {
    if (this.#calls.size === 0) this.signal.addEventListener("abort", this);
    this.#calls.add(call);
  }

  /** The listener is removed with the last call, so that a long-lived signal keeps nothing alive. */
  delete(call: Call): void {
    if (this.#calls.delete(call) && this.#calls.size === 0) this.signal.removeEventListener("abort", this);
  }

  handleEvent(): void {
    for (const call of this.#calls) this.#cancel(call);
  }
}
