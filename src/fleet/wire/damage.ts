import { ProtocolError } from "../../base/protocol/wire.ts";
import { SealError } from "../../store/redis/seal.ts";

/** Whoever can write to Redis may send damage without end: more lines than these say nothing new. */
const REPORTS_MAX = 10;
const WINDOW_MS = 10_000;

/** Tells of what came damaged, in bounds: what was left out is counted with the next. */
export class DamageReport {
  readonly #emit: (damage: Damage) => void;
  #windowMs = -Infinity;
  #reported = 0;
  #omitted = 0;

  constructor(tell: (damage: Damage) => void) {
    this.#emit = tell;
  }

  report(why: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#windowMs > WINDOW_MS) {
      this.#windowMs = nowMs;
      this.#reported = 0;
    }
    if (this.#reported >= REPORTS_MAX) return void this.#omitted++;
    this.#reported++;
    this.#emit(this.#omitted === 0 ? { why } : { why, unsaid: this.#omitted });
    this.#omitted = 0;
  }
}

export interface Damage {
  readonly why: string;
  /** How many others there were of which nothing was told. */
  readonly unsaid?: number;
}

/** What may be told of an error: only of those that are made for it, as others may quote what was read. */
export function describeDamage(error: unknown): string {
  return error instanceof ProtocolError || error instanceof SealError ? error.message : "the data is invalid";
}
