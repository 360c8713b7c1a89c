import { ProtocolError } from "../../base/protocol/wire.ts";
import { SealError } from "../../store/redis/seal.ts";

/** Maximum number of reports in a window: anybody who can write to Redis may send damage without end. */
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
  /** Number of reports omitted before this one. */
  readonly unsaid?: number;
}

/** The message of an error that is safe to log; other errors may quote what was read. */
export function describeDamage(error: unknown): string {
  return error instanceof ProtocolError || error instanceof SealError ? error.message : "the data is invalid";
}
