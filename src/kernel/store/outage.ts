/** Faults of a Redis, or of the way to it. */
export type RedisProblemKind =
  | "unreachable"
  | "silent"
  | "busy"
  | "login"
  | "permission"
  | "database"
  | "tls"
  | "full"
  | "replica"
  | "disk"
  | "cluster"
  | "sentinel"
  | "other";

/** A problem with Redis, in words for an operator, without an address, a password or a key. */
export interface RedisProblem {
  readonly kind: RedisProblemKind;
  /** Code of the system, of TLS or of Redis, such as `ECONNREFUSED` or `WRONGPASS`. */
  readonly code: string;
  /** The failure, as a clause about Redis: `refuses the login`. */
  readonly what: string;
  /** The remedy. */
  readonly remedy: string;
  /** Whether it lasts until the configuration or Redis is changed: retries do not help. */
  readonly isLasting: boolean;
}

/** Stores that may be in Redis, by the option with their address. */
export type StoreUse = "kv" | "idempotency" | "calls";

/** Uses of Redis. */
export type RedisUse = "fleet" | StoreUse;

/** Redis cannot be used: reported at once, and then repeatedly while it lasts. */
export interface RedisDown extends Pick<RedisProblem, "kind" | "code" | "isLasting"> {
  readonly uses: readonly RedisUse[];
  /** The failure, its effect on calls, and the remedy. Without addresses or secrets. */
  readonly message: string;
  readonly downMs: number;
}

export interface RedisUp {
  readonly uses: readonly RedisUse[];
  /** Time for which it could not be used. */
  readonly downMs: number;
}

export interface RedisListener {
  readonly onDown: (event: RedisDown) => void;
  readonly onUp: (event: RedisUp) => void;
}

/** Shorter outages are not reported: another process often has a file's lock for a moment. */
const LASTING_MS = 1_000;
/** First pause between reports of one outage, and the longest. */
const AGAIN_MS = 5_000;
const AGAIN_MOST_MS = 5 * 60_000;
/** Time without a problem after which pauses begin anew. */
const CALM_MS = 60_000;

/** Pauses between reports of outages, which grow while these last or come soon after one another. */
export class ReportPauses {
  #ms = AGAIN_MS;
  #upMs = -Infinity;

  get ms(): number {
    return this.#ms;
  }

  /** Begins an outage. Returns whether there was none for a while. */
  begin(nowMs: number): boolean {
    const isCalm = nowMs - this.#upMs >= CALM_MS;
    if (isCalm) this.#ms = AGAIN_MS;
    return isCalm;
  }

  grow(): void {
    this.#ms = Math.min(2 * this.#ms, AGAIN_MOST_MS);
  }

  /** Ends an outage. */
  end(nowMs: number): void {
    this.#upMs = nowMs;
  }
}

export interface OutageTold<Problem> {
  readonly onDown: (problem: Problem, downMs: number) => void;
  readonly onUp: (downMs: number) => void;
}

/** Reports that a file cannot be used, after a second and then with growing pauses, and that it can be used again. */
export class OutageReport<Problem> {
  readonly #told: OutageTold<Problem>;
  #problem: Problem | null = null;
  #sinceMs = 0;
  readonly #pauses = new ReportPauses();
  #isTold = false;
  #telling: NodeJS.Timeout | undefined;

  constructor(told: OutageTold<Problem>) {
    this.#told = told;
  }

  set(problem: Problem | null): void {
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
    this.#told.onUp(this.#downMs);
  }

  #tellIn(ms: number): void {
    this.#telling = setTimeout(() => this.#tell(), ms).unref();
  }

  #tell(): void {
    if (this.#problem === null) return;
    this.#isTold = true;
    this.#told.onDown(this.#problem, this.#downMs);
    this.#tellIn(this.#pauses.ms);
    this.#pauses.grow();
  }

  get #downMs(): number {
    return Math.round(performance.now() - this.#sinceMs);
  }
}
