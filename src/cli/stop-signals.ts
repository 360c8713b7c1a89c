import { EXIT } from "./exit.ts";
import { say } from "./output.ts";

const STOPPING = ["SIGTERM", "SIGINT"] as const;
/**
 * Time within which a repeated signal counts as the same: a terminal signals its whole process group, and npm forwards
 * its signal as well.
 */
const ECHO_MS = 500;

/** Handles SIGTERM and SIGINT: the first stops a service gracefully, a second one at once. */
export class StopSignals implements Disposable {
  readonly #stop: () => void;
  #first: { readonly signal: NodeJS.Signals; readonly atMs: number } | null = null;
  readonly #onSignal = (signal: NodeJS.Signals): void => this.take(signal);

  constructor(stop: () => void) {
    this.#stop = stop;
    // A closed stderr must not end calls.
    process.stderr.on("error", () => undefined);
    for (const signal of STOPPING) process.on(signal, this.#onSignal);
  }

  /** Whether a stop signal has arrived. */
  get hasBegun(): boolean {
    return this.#first !== null;
  }

  /** Handles a stop signal. */
  take(signal: NodeJS.Signals): void {
    const atMs = performance.now();
    if (this.#first === null) {
      this.#first = { signal, atMs };
      say("glovebox: stopping; a second signal stops at once");
      this.#stop();
    } else if (signal !== this.#first.signal || atMs - this.#first.atMs > ECHO_MS) {
      process.exit(EXIT.INTERRUPTED);
    }
  }

  /** Restores the default handling of signals. */
  [Symbol.dispose](): void {
    for (const signal of STOPPING) process.off(signal, this.#onSignal);
  }
}
