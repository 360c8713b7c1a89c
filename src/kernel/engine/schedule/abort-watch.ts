import type { Waiting } from "./flows.ts";

/**
 * Reports aborted signals of waiting calls.
 *
 * Calls that share a signal share one listener: adding a listener takes time proportional to the number of existing
 * ones, and all calls of a server may share one signal. The listener is removed with the last waiting call, so a
 * long-lived signal keeps nothing alive.
 */
export class AbortWatch {
  readonly #listeners = new Map<AbortSignal, SharedListener>();
  readonly #onAbort: (call: Waiting) => void;

  constructor(onAbort: (call: Waiting) => void) {
    this.#onAbort = onAbort;
  }

  add(call: Waiting): void {
    const signal = call.signal;
    if (signal === undefined) return;
    let listener = this.#listeners.get(signal);
    if (listener === undefined) {
      listener = new SharedListener(this.#onAbort);
      this.#listeners.set(signal, listener);
      signal.addEventListener("abort", listener);
    }
    listener.calls.add(call);
  }

  remove(call: Waiting): void {
    const signal = call.signal;
    if (signal === undefined) return;
    const listener = this.#listeners.get(signal);
    if (listener === undefined || !listener.calls.delete(call) || listener.calls.size > 0) return;
    this.#listeners.delete(signal);
    signal.removeEventListener("abort", listener);
  }
}

class SharedListener {
  readonly calls = new Set<Waiting>();
  readonly #onAbort: (call: Waiting) => void;

  constructor(onAbort: (call: Waiting) => void) {
    this.#onAbort = onAbort;
  }

  handleEvent(): void {
    for (const call of this.calls) this.#onAbort(call);
  }
}
