import { readPlan } from "../wire/read-message.ts";
import type { ReplayPlan } from "../../base/protocol/messages.ts";

/**
 * The order and times of a call's responses, as its server's journal has them. A restart on this machine must deliver
 * them in the same order, and its executor needs them at once, without a message to the server.
 */
export class DeliveredResponses {
  readonly #responses: { asked: number; nowMs: number; step: number }[] = [];
  #asked: number;
  /** The current attempt, and the number of responses it has received. */
  #attempt = 0;
  #given = 0;

  /** `plan`: the responses on earlier machines. */
  constructor(asked: number, plan: string) {
    this.#asked = asked;
    for (const [at, nowMs] of readPlan(plan)) this.#responses.push({ asked: at, nowMs, step: 0 });
  }

  /** Whether the call has made any capability call. */
  get hasAsked(): boolean {
    return this.#asked > 0;
  }

  /** Records a capability call. For a new step, responses that the call had not received yet are ordered after it. */
  recordRequest(step: number, deliveredCount: number | undefined): void {
    if (step <= this.#asked) return;
    this.#asked = step;
    for (let at = Math.max(0, deliveredCount ?? this.#responses.length); at < this.#responses.length; at++) {
      const answer = this.#responses[at];
      if (answer !== undefined) answer.asked = step;
    }
  }

  /** Records a response. Their order is fixed: the first responses of an attempt repeat those of earlier attempts. */
  recordResponse(attempt: number, step: number, nowMs: number): void {
    if (attempt !== this.#attempt) {
      this.#attempt = attempt;
      this.#given = 0;
    }
    const known = this.#responses[this.#given++];
    if (known === undefined) this.#responses.push({ asked: this.#asked, nowMs, step });
    else known.step = step;
  }

  /** Records the later time at which the response was delivered. */
  recordTime(step: number, nowMs: number): void {
    const answer = this.#responses.find((one) => one.step === step);
    if (answer !== undefined) answer.nowMs = nowMs;
  }

  /** A `ReplayPlan` as JSON, or empty text. */
  plan(): string {
    if (this.#responses.length === 0) return "";
    const plan: ReplayPlan = this.#responses.map(({ asked, nowMs }) => [asked, nowMs] as const);
    return JSON.stringify(plan);
  }
}
