import type { DropReason, StoreProblem } from "./thread/messages.ts";

/** What lasts less is not told: another process holds the file's lock for a moment again and again. */
const LASTING_MS = 1_000;
/** First pause between reports of one outage, and the longest. */
const AGAIN_MS = 5_000;
const AGAIN_MOST_MS = 5 * 60_000;
/** Time without a problem after which pauses begin anew. */
const CALM_MS = 60_000;

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
  #upMs = -Infinity;
  #pauseMs = AGAIN_MS;
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
    const isCalm = this.#sinceMs - this.#upMs > CALM_MS;
    if (isCalm) this.#pauseMs = AGAIN_MS;
    this.#tellIn(isCalm ? LASTING_MS : this.#pauseMs);
  }

  close(): void {
    clearTimeout(this.#telling);
  }

  #end(): void {
    clearTimeout(this.#telling);
    if (!this.#isTold) return;
    this.#isTold = false;
    this.#upMs = performance.now();
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
    this.#tellIn(this.#pauseMs);
    this.#pauseMs = Math.min(2 * this.#pauseMs, AGAIN_MOST_MS);
  }

  get #downMs(): number {
    return Math.round(performance.now() - this.#sinceMs);
  }
}
