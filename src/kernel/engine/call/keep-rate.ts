/** Calls that are kept in a second, and at once after a pause: of all tenants, and of one. */
const ALL = { perSecond: 2_000, atOnce: 10_000 };
const ONE = { perSecond: 500, atOnce: 2_000 };
/** Maximum number of tenants with known rates. */
const TENANTS_MAX = 1_000;

class Allowance {
  readonly #most: number;
  readonly #perMs: number;
  #left: number;
  #lastMs = 0;
  /** Calls that were not kept since the last kept one. */
  skipped = 0;

  constructor({ perSecond, atOnce }: typeof ALL) {
    this.#most = atOnce;
    this.#left = atOnce;
    this.#perMs = perSecond / 1_000;
  }

  has(nowMs: number): boolean {
    if (nowMs > this.#lastMs) {
      this.#left = Math.min(this.#most, this.#left + (nowMs - this.#lastMs) * this.#perMs);
      this.#lastMs = nowMs;
    }
    return this.#left >= 1;
  }

  take(): void {
    this.#left--;
  }
}

/**
 * Decides which calls are kept if they come fast: keeping one takes some 8 µs of the host's threads, which is more than
 * a short call takes. No tenant takes the place of another, and no success that of a failure.
 */
export class KeepRate {
  readonly #succeeded = new RateOf();
  readonly #failed = new RateOf();

  /** Number of calls that this one counts for: itself, and earlier ones of its tenant that were not kept. 0: none. */
  standsFor(tenant: string, isFailed: boolean, nowMs: number): number {
    return (isFailed ? this.#failed : this.#succeeded).standsFor(tenant, nowMs);
  }
}

class RateOf {
  readonly #all = new Allowance(ALL);
  readonly #tenants = new Map<string, Allowance>();

  standsFor(tenant: string, nowMs: number): number {
    const own = this.#tenants.get(tenant) ?? this.#begin(tenant);
    if (!own.has(nowMs) || !this.#all.has(nowMs)) {
      own.skipped++;
      return 0;
    }
    own.take();
    this.#all.take();
    const stands = 1 + own.skipped;
    own.skipped = 0;
    return stands;
  }

  #begin(tenant: string): Allowance {
    if (this.#tenants.size >= TENANTS_MAX) this.#tenants.clear();
    const begun = new Allowance(ONE);
    this.#tenants.set(tenant, begun);
    return begun;
  }
}
