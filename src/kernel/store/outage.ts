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
  /** What happens, as a clause about Redis: `refuses the login`. */
  readonly what: string;
  /** What to do. */
  readonly remedy: string;
  /** Whether it stays until somebody changes the configuration or Redis: trying again does not help. */
  readonly isLasting: boolean;
}

/** Stores that may be in Redis, by the option with their address. */
export type StoreUse = "kv" | "idempotency" | "calls";

/** Uses of Redis. */
export type RedisUse = "fleet" | StoreUse;

/** Redis cannot be used: told at once, and then again and again while it lasts. */
export interface RedisDown extends Pick<RedisProblem, "kind" | "code" | "isLasting"> {
  readonly uses: readonly RedisUse[];
  /** What happens, what it means for calls, and what to do. Without addresses or secrets. */
  readonly message: string;
  readonly downMs: number;
}

export interface RedisUp {
  readonly uses: readonly RedisUse[];
  /** For how long it could not be used. */
  readonly downMs: number;
}

export interface RedisListener {
  readonly onDown: (event: RedisDown) => void;
  readonly onUp: (event: RedisUp) => void;
}

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

  /** An outage begins. Returns whether there was none for a while. */
  begin(nowMs: number): boolean {
    const isCalm = nowMs - this.#upMs >= CALM_MS;
    if (isCalm) this.#ms = AGAIN_MS;
    return isCalm;
  }

  grow(): void {
    this.#ms = Math.min(2 * this.#ms, AGAIN_MOST_MS);
  }

  /** An outage has ended. */
  end(nowMs: number): void {
    this.#upMs = nowMs;
  }
}
