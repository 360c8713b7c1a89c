import { Budget, type Standing } from "./budget.ts";
import type { KeyGrant } from "./key-options.ts";

const MICROSECONDS = 1_000_000;

/** Reason for which a key may not call now, and the time until it may. */
export interface Overdrawn {
  readonly message: string;
  readonly retryAfterMs: number;
}

/** Usage of a key's rate and quota. */
export class Account {
  readonly #rate: Budget | null;
  readonly #calls: Budget | null;
  readonly #cpu: Budget | null;
  readonly #all: readonly Budget[];

  constructor({ rate, quota }: KeyGrant) {
    this.#rate = rate === undefined ? null : new Budget("rate", rate.calls, rate.perMs);
    this.#calls = quota?.calls === undefined ? null : new Budget("calls", quota.calls, quota.windowMs);
    this.#cpu =
      quota?.cpuSeconds === undefined
        ? null
        : new Budget("cpu", Math.max(1, Math.round(quota.cpuSeconds * MICROSECONDS)), quota.windowMs);
    this.#all = [this.#rate, this.#calls, this.#cpu].filter((budget) => budget !== null);
  }

  /**
   * Takes one call, or returns the reason for a refusal. The quota of calls is charged last, so that a call
   * refused by the rate uses none of it.
   */
  async take(): Promise<Overdrawn | null> {
    const cpuWaitMs = (await this.#cpu?.waitMs()) ?? 0;
    if (cpuWaitMs > 0) return overdrawn("the key has used its processor time", cpuWaitMs);
    const rateWaitMs = (await this.#rate?.take(1)) ?? 0;
    if (rateWaitMs > 0) return overdrawn("the key calls faster than it may", rateWaitMs);
    const callsWaitMs = (await this.#calls?.take(1)) ?? 0;
    return callsWaitMs > 0 ? overdrawn("the key has made the calls that it may", callsWaitMs) : null;
  }

  /** Charges used CPU time, in milliseconds. */
  charge(cpuMs: number): void {
    void this.#cpu?.charge(Math.round((cpuMs * MICROSECONDS) / 1_000));
  }

  standings(): Promise<readonly Standing[]> {
    return Promise.all(this.#all.map((budget) => budget.standing()));
  }
}

function overdrawn(what: string, retryAfterMs: number): Overdrawn {
  return { message: `${what}; there is more in ${retryAfterMs} ms`, retryAfterMs };
}
