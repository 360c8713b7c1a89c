/** Maximum number of calls in a period, for each tenant. */
export interface RateLimit {
  readonly calls: number;
  readonly perMs: number;
}

/** Maximum number of tenants remembered; the one idle longest is forgotten first. */
const TENANTS_MAX = 10_000;

interface TokenBucket {
  left: number;
  filledMs: number;
}

/** A token bucket for each tenant, refilled continuously. */
export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #buckets = new Map<string, TokenBucket>();

  /** Throws a `RangeError` if the limit is invalid. */
  constructor(limit: RateLimit) {
    const { calls, perMs } = limit;
    // An embedder may pass any value, also the text "3".
    if (!isAtLeast(calls, 1) || !isAtLeast(perMs, Number.MIN_VALUE) || !Number.isFinite(calls / perMs)) {
      throw new RangeError("a rate limit is { calls: 1 or more, perMs: above 0 }");
    }
    this.#limit = limit;
  }

  /** Takes a token. Returns 0, or the milliseconds until the next token if none is left. */
  take(tenant: string, nowMs: number): number {
    const { calls, perMs } = this.#limit;
    const bucket = this.#buckets.get(tenant) ?? { left: calls, filledMs: nowMs };
    this.#buckets.delete(tenant);
    this.#buckets.set(tenant, bucket);
    if (this.#buckets.size > TENANTS_MAX) this.#forgetOne();
    bucket.left = Math.min(calls, bucket.left + ((nowMs - bucket.filledMs) * calls) / perMs);
    bucket.filledMs = nowMs;
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * perMs) / calls);
    bucket.left--;
    return 0;
  }

  #forgetOne(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

function isAtLeast(value: unknown, least: number): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= least;
}
