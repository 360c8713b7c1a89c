import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";

/** What a key is counted under: each budget is one key's. */
const SELF = "";

/** What a budget counts. */
export type BudgetName = "rate" | "calls" | "cpu";

/** How much is left of a budget. */
export interface Standing {
  readonly name: BudgetName;
  /** Of calls, or of microseconds of processor time, in each window. */
  readonly quota: number;
  readonly windowMs: number;
  readonly remaining: number;
  /** Until the window ends; where none has begun, how long one is. */
  readonly resetMs: number;
}

/** So much within a time. A window begins with the first use after the last one. */
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

  /** Takes some; answers in how many milliseconds there is some to take, 0 where there was. */
  async take(count: number): Promise<number> {
    try {
      await this.#limiter.consume(SELF, count);
      return 0;
    } catch (refusal) {
      return waitOf(refusal);
    }
  }

  /** Counts what was used, whether there was as much or not. */
  async charge(count: number): Promise<void> {
    await this.#limiter.penalty(SELF, count);
  }

  /** In how many milliseconds there is some to take, 0 where there is. */
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

/** The limiter rejects with what is left, or with an error of its own. */
function waitOf(refusal: unknown): number {
  if (refusal instanceof Error) throw refusal;
  return Math.max(1, Math.ceil((refusal as RateLimiterRes).msBeforeNext));
}
