import { readPlan } from "../wire/read-message.ts";
import type { ReplayPlan } from "../../base/protocol/messages.ts";

/**
 * What a call was answered and when, as its server's journal knows it: a call that starts again on this machine has to hear it in
 * the same order, and its executor asks for that at once, where the server could only be asked by a message.
 */
export class DeliveredResponses {
  readonly #responses: { asked: number; nowMs: number; step: number }[] = [];
  #asked: number;
  /** Answers that the start with this number has been given. */
  #attempt = 0;
  #given = 0;

  /** `plan`: what it was answered on machines that it has left. */
  constructor(asked: number, plan: string) {
    this.#asked = asked;
    for (const [at, nowMs] of readPlan(plan)) this.#responses.push({ asked: at, nowMs, step: 0 });
  }

  /** Whether the call has ever asked for anything. */
  get hasAsked(): boolean {
    return this.#asked > 0;
  }

  /** A step that the call had not asked before: answers that were on their way then come after it. */
  recordRequest(step: number, heard: number | undefined): void {
    if (step <= this.#asked) return;
    this.#asked = step;
    for (let at = Math.max(0, heard ?? this.#responses.length); at < this.#responses.length; at++) {
      const answer = this.#responses[at];
      if (answer !== undefined) answer.asked = step;
    }
  }

  /** Answers come in one order: those that a start is given first are those that earlier ones were given. */
  recordResponse(attempt: number, step: number, nowMs: number): void {
    if (attempt !== this.#attempt) {
      this.#attempt = attempt;
      this.#given = 0;
    }
    const known = this.#responses[this.#given++];
    if (known === undefined) this.#responses.push({ asked: this.#asked, nowMs, step });
    else known.step = step;
  }

  /** It reached the call later than it came. */
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
