import type { Progress } from "../../../kernel/base/result.ts";

/** Least time between two reports: people watch them, and a server may send thousands. */
const EVERY_MS = 50;

/** The reports of one call's progress: the first is sent at once, later ones in turn, always the latest. */
export class ProgressReports implements Disposable {
  readonly #send: (progress: Progress) => void;
  #latest: Progress | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(send: (progress: Progress) => void) {
    this.#send = send;
  }

  take(progress: Progress): void {
    if (!Number.isFinite(progress.progress)) return;
    this.#latest = progress;
    if (this.#timer === null) this.#next();
  }

  #next(): void {
    const latest = this.#latest;
    this.#latest = null;
    this.#timer = latest === null ? null : setTimeout(() => this.#next(), EVERY_MS);
    if (latest !== null) this.#send(latest);
  }

  /** The last report comes before the answer. */
  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#latest !== null) this.#send(this.#latest);
  }
}
