import type { ErrorCode } from "../../base/errors.ts";

/** Room for one running call. */
export interface Slot {
  /** Frees the slot; further calls do nothing. */
  release(): void;
}

/** An entry of the queue: either started or refused, once. Neither method may throw. */
export interface QueueEntry {
  /** Starts the entry, which holds the slot until it releases it. */
  start(slot: Slot, queueMs: number): void;
  refuse(refusal: Refusal): void;
}

/** Error codes of calls that never started. */
export type RefusalCode = Extract<ErrorCode, "queue_full" | "queue_timeout" | "cancelled" | "engine_closed">;

/** The reason for which a call did not start. A class, so that `instanceof` distinguishes it from every value. */
export class Refusal {
  readonly kind = "refused";
  readonly code: RefusalCode;
  readonly message: string;
  /** Time in the queue, in milliseconds. */
  readonly queueMs: number;
  /** Only for `queue_full`: estimated time until the calls that wait now have started, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: RefusalCode, message: string, queueMs: number, retryAfterMs?: number) {
    this.code = code;
    this.message = message;
    this.queueMs = queueMs;
    this.retryAfterMs = retryAfterMs;
  }
}
