import { type RedisListener, type RedisProblem, type RedisUse, ReportPauses } from "../../kernel/store/outage.ts";

/** Meaning of an outage for calls. */
export const EFFECTS: Readonly<Record<RedisUse | "machine", string>> = {
  fleet: "calls of the fleet wait, and then end with executor_lost",
  machine: "this machine takes no calls",
  kv: "requests of tools to kv fail, after a wait within their call's time where it may come back",
  idempotency: "calls with an idempotency key end with store_failed",
  calls: "ended calls wait in memory, and are dropped from the history when there are too many",
};

const LOOK_MS = 100;
/** Changes of the reason that are reported at once, within one outage. */
const NEWS_MAX = 3;

interface RedisReportOptions extends RedisListener {
  readonly uses: readonly RedisUse[];
  /** See `EFFECTS`. */
  readonly effect: string;
  readonly problem: () => RedisProblem | null;
}

/** Reports that Redis cannot be used, at once and then with growing pauses, and that it can be used again. */
export class RedisReport implements Disposable {
  readonly #options: RedisReportOptions;
  readonly #timer: NodeJS.Timeout;
  /** Code of the last report in this outage. */
  #told: string | null = null;
  #news = 0;
  #sinceMs: number | null = null;
  #nextMs = -Infinity;
  readonly #pauses = new ReportPauses();

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
    if (!isNews && this.#told !== null) this.#pauses.grow();
    this.#nextMs = nowMs + this.#pauses.ms;
    this.#told = problem.code;
    const { uses, effect, onDown } = this.#options;
    const { kind, code, what, remedy, isLasting } = problem;
    const message = `Redis ${what} (${code}): ${effect}${isLasting ? "" : "; it is tried again"}; ${remedy}`;
    onDown({ uses, kind, code, isLasting, message, downMs: Math.round(nowMs - (this.#sinceMs ?? nowMs)) });
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#news = 0;
    // After a calm time, the next problem is reported at once.
    if (this.#pauses.begin(nowMs)) this.#nextMs = -Infinity;
  }

  #onCalm(nowMs: number): void {
    if (this.#sinceMs === null) return;
    const downMs = Math.round(nowMs - this.#sinceMs);
    // An unreported outage has no report of its end.
    if (this.#told !== null) this.#options.onUp({ uses: this.#options.uses, downMs });
    this.#sinceMs = null;
    this.#told = null;
    this.#pauses.end(nowMs);
  }
}
