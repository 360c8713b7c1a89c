import { readPlan } from "../wire/read-message.ts";
import {
  addSharedTurn,
  LATE_MAX,
  type LateTimer,
  type ReplayPlan,
  type SharedTurn,
} from "../../kernel/base/protocol/messages.ts";

/**
 * The order and times of a call's responses, as its server's journal has them. A restart on this machine must deliver
 * them in the same order, and its executor needs them at once, without a message to the server.
 */
export class DeliveredResponses {
  readonly #responses: { asked: number; nowMs: number; step: number }[] = [];
  readonly #late: LateTimer[];
  readonly #together: SharedTurn[] = [];
  #asked: number;
  /** The current attempt, and the number of responses it has received. */
  #attempt = 0;
  #given = 0;

  /** `plan`: the responses of earlier runs. */
  constructor(asked: number, plan: string) {
    const { asked: planned, responses, late, together } = readPlan(plan);
    this.#asked = Math.max(asked, planned ?? 0);
    this.#late = [...late];
    for (const [at, nowMs] of responses) this.#responses.push({ asked: at, nowMs, step: 0 });
    for (const [at, count] of together) this.recordTogether(at, count);
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

  /** Records a timer turn that began later, by the call's clock, than its timer was due. */
  recordLate(fired: number, nowMs: number): void {
    if (this.#late.length < LATE_MAX) this.#late.push([fired, nowMs]);
  }

  /** Records that a number of responses from an index on reached the call in one turn. */
  recordTogether(at: number, count: number): void {
    addSharedTurn(this.#together, [at, count], this.#responses.length);
  }

  /** A `ReplayPlan` as JSON, or empty text. */
  plan(): string {
    if (this.#asked === 0 && this.#late.length === 0) return "";
    const responses = this.#responses.map(({ asked, nowMs }) => [asked, nowMs] as const);
    const [late, together] = [this.#late, this.#together];
    return JSON.stringify({ asked: this.#asked, responses, late, together } satisfies ReplayPlan);
  }
}
