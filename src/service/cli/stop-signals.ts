import { EXIT } from "./exit.ts";
import { say } from "./output.ts";

const STOPPING = ["SIGTERM", "SIGINT"] as const;
/** A terminal signals all processes of its group, and npm passes on what it gets: that is one signal that comes twice. */
const ECHO_MS = 500;

/** SIGTERM and SIGINT stop a service, a second one at once. */
export class StopSignals implements Disposable {
  readonly #stop: () => void;
  #first: { readonly signal: NodeJS.Signals; readonly atMs: number } | null = null;
  readonly #onSignal = (signal: NodeJS.Signals): void => this.take(signal);

  constructor(stop: () => void) {
    this.#stop = stop;
    // Whoever read what the service says may be gone: that ends no calls.
    process.stderr.on("error", () => undefined);
    for (const signal of STOPPING) process.on(signal, this.#onSignal);
  }

  /** Whether one has come. */
  get hasBegun(): boolean {
    return this.#first !== null;
  }

  /** Does what this signal asks for. */
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

  /** From here on signals do what they do to any process. */
  [Symbol.dispose](): void {
    for (const signal of STOPPING) process.off(signal, this.#onSignal);
  }
}
