import type { RedisListener, RedisUse } from "../../kernel/store/outage.ts";
import type { RedisProblem } from "../../kernel/store/outage.ts";

/** Meaning of an outage for calls. */
export const EFFECTS: Readonly<Record<RedisUse | "machine", string>> = {
  fleet: "calls of the fleet wait, and then end with executor_lost",
  machine: "this machine takes no calls",
  kv: "requests of tools to kv fail, after a wait within their call's time where it may come back",
  idempotency: "calls with an idempotency key end with store_failed",
  calls: "ended calls wait in memory, and are dropped from the history when there are too many",
};

const LOOK_MS = 100;
/** First pause between reports of one outage, and the longest. */
const AGAIN_MS = 5_000;
const AGAIN_MOST_MS = 5 * 60_000;
/** Time without a problem after which the next one is told at once again. */
const CALM_MS = 60_000;
/** Changes of the reason that are told at once, within one outage. */
const NEWS_MAX = 3;

interface RedisReportOptions extends RedisListener {
  readonly uses: readonly RedisUse[];
  /** See `EFFECTS`. */
  readonly effect: string;
  readonly problem: () => RedisProblem | null;
}

/** Tells when Redis cannot be used, at once and then with growing pauses, and when it can be used again. */
export class RedisReport implements Disposable {
  readonly #options: RedisReportOptions;
  readonly #timer: NodeJS.Timeout;
  /** Code of what was told last in this outage. */
  #told: string | null = null;
  #news = 0;
  #sinceMs: number | null = null;
  #upMs = -Infinity;
  #nextMs = -Infinity;
  #pauseMs = AGAIN_MS;

  constructor(options: RedisReportOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.look(performance.now()), LOOK_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  look(nowMs: number): void {
    const problem = this.#options.problem();
    if (problem === null) this.#onCalm(nowMs);
    else this.#onProblem(problem, nowMs);
  }

  #onProblem(problem: RedisProblem, nowMs: number): void {
    if (this.#sinceMs === null) this.#begin(nowMs);
    const isNews = this.#told !== null && this.#told !== problem.code && this.#news++ < NEWS_MAX;
    if (nowMs < this.#nextMs && !isNews) return;
    if (!isNews && this.#told !== null) this.#pauseMs = Math.min(2 * this.#pauseMs, AGAIN_MOST_MS);
    this.#nextMs = nowMs + this.#pauseMs;
    this.#told = problem.code;
    const { uses, effect, onDown } = this.#options;
    const { kind, code, what, remedy, isLasting } = problem;
    const message = `Redis ${what} (${code}): ${effect}${isLasting ? "" : "; it is tried again"}; ${remedy}`;
    onDown({ uses, kind, code, isLasting, message, downMs: Math.round(nowMs - (this.#sinceMs ?? nowMs)) });
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#news = 0;
    if (nowMs - this.#upMs < CALM_MS) return;
    this.#pauseMs = AGAIN_MS;
    this.#nextMs = -Infinity;
  }

  #onCalm(nowMs: number): void {
    if (this.#sinceMs === null) return;
    const downMs = Math.round(nowMs - this.#sinceMs);
    // What was never told to be down is not told to be up.
    if (this.#told !== null) this.#options.onUp({ uses: this.#options.uses, downMs });
    this.#sinceMs = null;
    this.#told = null;
    this.#upMs = nowMs;
  }
}
