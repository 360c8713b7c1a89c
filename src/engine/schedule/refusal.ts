import type { ErrorCode } from "../../base/errors.ts";

/** The error codes of calls that never started. */
export type RefusalCode = Extract<ErrorCode, "queue_full" | "queue_timeout" | "cancelled" | "engine_closed">;

/**
 * What `Scheduler.run` resolves with instead of the call's own value when the call did not start.
 * It is a class, so that `instanceof` tells it from any value and no wrapper is needed around the others.
 */
export class Refusal {
  readonly kind = "refused";
  readonly code: RefusalCode;
  readonly message: string;
  /** How long the call waited. */
  readonly queueMs: number;
  /** Only for `queue_full`: when the calls that wait now will probably have started. */
  readonly retryAfterMs: number | undefined;

  constructor(code: RefusalCode, message: string, queueMs: number, retryAfterMs?: number) {
    this.code = code;
    this.message = message;
    this.queueMs = queueMs;
    this.retryAfterMs = retryAfterMs;
  }
}
