import { ProtocolError } from "../../base/protocol/wire.ts";
import { SealError } from "../../store/redis/seal.ts";

/** Whoever can write to Redis may send damage without end: more lines than these say nothing new. */
const TOLD_MAX = 10;
const WINDOW_MS = 10_000;

/** Tells of what came damaged, in bounds: what was left out is counted with the next. */
export class DamageReport {
  readonly #tell: (damage: Damage) => void;
  #windowMs = -Infinity;
  #told = 0;
  #unsaid = 0;

  constructor(tell: (damage: Damage) => void) {
    this.#tell = tell;
  }

  note(why: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#windowMs > WINDOW_MS) {
      this.#windowMs = nowMs;
      this.#told = 0;
    }
    if (this.#told >= TOLD_MAX) return void this.#unsaid++;
    this.#told++;
    this.#tell(this.#unsaid === 0 ? { why } : { why, unsaid: this.#unsaid });
    this.#unsaid = 0;
  }
}

export interface Damage {
  readonly why: string;
  /** How many others there were of which nothing was told. */
  readonly unsaid?: number;
}

/** What may be told of an error: only of those that are made for it, as others may quote what was read. */
export function wordsOf(error: unknown): string {
  return error instanceof ProtocolError || error instanceof SealError ? error.message : "it cannot be used";
}
