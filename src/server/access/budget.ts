import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";

/** Constant limiter key, as each budget belongs to one key. */
const SELF = "";

/** Name of a budget. */
export type BudgetName = "rate" | "calls" | "cpu";

/** Remaining amount of a budget. */
export interface Standing {
  readonly name: BudgetName;
  /** Calls, or microseconds of CPU time, per window. */
  readonly quota: number;
  readonly windowMs: number;
  readonly remaining: number;
  /** Time until the window ends, in milliseconds; the window's length if none has begun. */
  readonly resetMs: number;
}

/** An amount per time window. A window begins with the first use after the previous window. */
export class Budget {
  readonly name: BudgetName;
  readonly #quota: number;
  readonly #windowMs: number;
  readonly #limiter: RateLimiterMemory;

  constructor(name: BudgetName, quota: number, windowMs: number) {
    this.name = name;
    this.#quota = quota;
    this.#windowMs = windowMs;
    this.#limiter = new RateLimiterMemory({ points: quota, duration: windowMs / 1_000 });
  }

  /** Takes an amount. Returns 0 on success, else the time to wait in milliseconds. */
  async take(count: number): Promise<number> {
    try {
      await this.#limiter.consume(SELF, count);
      return 0;
    } catch (refusal) {
      return waitOf(refusal);
    }
  }

  /** Charges used amounts, even beyond the budget. */
  async charge(count: number): Promise<void> {
    await this.#limiter.penalty(SELF, count);
  }

  /** Time in milliseconds until some budget is available, 0 if it is now. */
  async waitMs(): Promise<number> {
    const { remaining, resetMs } = await this.standing();
    return remaining > 0 ? 0 : Math.max(1, resetMs);
  }

  async standing(): Promise<Standing> {
    const used = await this.#limiter.get(SELF);
    // Its timer may be late.
    const isOver = used === null || used.msBeforeNext <= 0;
    return {
      name: this.name,
      quota: this.#quota,
      windowMs: this.#windowMs,
      remaining: isOver ? this.#quota : used.remainingPoints,
      resetMs: isOver ? this.#windowMs : used.msBeforeNext,
    };
  }
}

/** The limiter rejects with the rest of the budget, or with an error of its own. */
function waitOf(refusal: unknown): number {
  if (refusal instanceof Error) throw refusal;
  return Math.max(1, Math.ceil((refusal as RateLimiterRes).msBeforeNext));
}
