import { ReportPauses } from "../outage.ts";
import type { DropReason, StoreProblem } from "./thread/messages.ts";

/** What lasts less is not told: another process holds the file's lock for a moment again and again. */
const LASTING_MS = 1_000;

/** The file of calls cannot be used: told after a second, and then again and again while it lasts. */
export interface CallsDown {
  readonly reason: DropReason;
  /** The problem, without a path. */
  readonly problem: string;
  /** The file. For the operator, not for callers. */
  readonly path: string;
  readonly downMs: number;
}

export interface CallsUp {
  readonly path: string;
  /** For how long it could not be used. */
  readonly downMs: number;
}

export interface OutageListener {
  readonly onDown: (event: CallsDown) => void;
  readonly onUp: (event: CallsUp) => void;
}

/** Tells when a file of calls cannot be used, with growing pauses, and when it can be used again. */
export class OutageReport {
  readonly #path: string;
  readonly #listener: OutageListener;
  #problem: StoreProblem | null = null;
  #sinceMs = 0;
  readonly #pauses = new ReportPauses();
  #isTold = false;
  #telling: NodeJS.Timeout | undefined;

  constructor(path: string, listener: OutageListener) {
    this.#path = path;
    this.#listener = listener;
  }

  set(problem: StoreProblem | null): void {
    const isNew = this.#problem === null;
    this.#problem = problem;
    if (problem === null) return this.#end();
    if (!isNew) return;
    this.#sinceMs = performance.now();
    this.#tellIn(this.#pauses.begin(this.#sinceMs) ? LASTING_MS : this.#pauses.ms);
  }

  close(): void {
    clearTimeout(this.#telling);
  }

  #end(): void {
    clearTimeout(this.#telling);
    if (!this.#isTold) return;
    this.#isTold = false;
    this.#pauses.end(performance.now());
    this.#listener.onUp({ path: this.#path, downMs: this.#downMs });
  }

  #tellIn(ms: number): void {
    this.#telling = setTimeout(() => this.#tell(), ms).unref();
  }

  #tell(): void {
    if (this.#problem === null) return;
    this.#isTold = true;
    const { reason, message } = this.#problem;
    this.#listener.onDown({ reason, problem: message, path: this.#path, downMs: this.#downMs });
    this.#tellIn(this.#pauses.ms);
    this.#pauses.grow();
  }

  get #downMs(): number {
    return Math.round(performance.now() - this.#sinceMs);
  }
}
