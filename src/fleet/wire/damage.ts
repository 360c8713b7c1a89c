import { ProtocolError } from "../../kernel/base/protocol/wire.ts";
import { SealError } from "../../kernel/store/seal.ts";

/** Maximum number of reports in a window, because any writer to Redis can send invalid data without end. */
const REPORTS_MAX = 10;
const WINDOW_MS = 10_000;

/** Reports invalid data at a bounded rate; the next report carries the number of omitted ones. */
export class DamageReport {
  readonly #emit: (damage: Damage) => void;
  #windowMs = -Infinity;
  #reported = 0;
  #omitted = 0;

  constructor(emit: (damage: Damage) => void) {
    this.#emit = emit;
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

/** The message of an error that is safe to log; other errors may quote the data. */
export function describeDamage(error: unknown): string {
  return error instanceof ProtocolError || error instanceof SealError ? error.message : "the data is invalid";
}
