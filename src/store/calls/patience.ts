import { setTimeout as delay } from "node:timers/promises";
import type { Claim } from "./ledger.ts";

/** How long a call of another process is waited for, and how often it is looked at meanwhile. */
const PATIENCE_MS = 15_000;
const LOOK_MAX_MS = 500;
/** Calls that may wait for other processes at once. */
const WAITING_MAX = 1_000;

/** Waits for calls that other processes run. */
export class Patience {
  readonly #lookFirstMs: number;
  #waiting = 0;

  constructor(lookFirstMs: number) {
    this.#lookFirstMs = lookFirstMs;
  }

  /** Looks again and again at what is `running`, for `waitMs` at most, and not for ever. */
  async wait(look: () => Promise<Claim>, signal: AbortSignal, waitMs = PATIENCE_MS): Promise<Claim> {
    const first = await look();
    if (first.kind !== "running" || this.#waiting >= WAITING_MAX) return first;
    this.#waiting++;
    try {
      return await this.#lookOn(look, signal, waitMs < PATIENCE_MS ? waitMs : PATIENCE_MS);
    } finally {
      this.#waiting--;
    }
  }

  async #lookOn(look: () => Promise<Claim>, signal: AbortSignal, waitMs: number): Promise<Claim> {
    const untilMs = performance.now() + waitMs;
    for (let pauseMs = this.#lookFirstMs; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      await delay(pauseMs);
      const claim = await look();
      if (claim.kind !== "running" || signal.aborted || performance.now() > untilMs) return claim;
    }
  }
}
