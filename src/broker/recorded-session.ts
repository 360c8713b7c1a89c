import type { CapabilityResponse, CapabilityCall } from "../base/protocol/capability-call.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import { ReplayCursor } from "./replay-cursor.ts";
import type { LastRefusal } from "./last-refusal.ts";

/** What a recorded call asked, without what it was answered. */
type RecordedEntry = Pick<JournalEntry, "capability" | "method" | "args">;

/** An answer, which ask it was for, and how many there had been by then. */
export interface RecordedResponse {
  readonly step: number;
  readonly asked: number;
  readonly answer: CapabilityResponse;
}

/** Answers a call from what it was answered when it was recorded. Nothing of the world is asked. */
export class RecordedSession implements Disposable {
  readonly journal = new Journal();
  /** Nothing happens, so there is nothing that cannot be undone. */
  readonly effects = 0;
  readonly #asks: readonly RecordedEntry[];
  #replay: ReplayCursor;

  readonly lastRefusal: LastRefusal | null;

  constructor(asks: readonly RecordedEntry[], answers: readonly RecordedResponse[], lastRefusal: LastRefusal | null) {
    this.#asks = asks;
    this.lastRefusal = lastRefusal;
    // What was not answered before the call ended, is not answered.
    const never = new Promise<CapabilityResponse>(() => undefined);
    const byStep = new Map(answers.map(({ step, answer }) => [step, answer]));
    for (const [at, ask] of asks.entries()) {
      const answer = byStep.get(at + 1);
      this.journal.append({ ...ask, step: at + 1, answer: answer === undefined ? never : Promise.resolve(answer) });
    }
    for (const { step, asked, answer } of answers) this.journal.noteAnswer(step, answer, asked);
    this.#replay = new ReplayCursor(1, this.journal);
  }

  ask(ask: CapabilityCall): Promise<CapabilityResponse> {
    if (ask.attempt !== this.#replay.attempt) this.#replay = new ReplayCursor(ask.attempt, this.journal);
    const recorded = this.#asks[ask.step - 1];
    const entry = this.journal.find(ask.step);
    const isSame =
      recorded !== undefined &&
      recorded.capability === ask.capability &&
      recorded.method === ask.method &&
      recorded.args === ask.args;
    if (isSame && entry !== undefined) return this.#replay.give(entry);
    const message = `the call asked for something else than was recorded at step ${ask.step}`;
    return Promise.resolve({ kind: "diverged", message });
  }

  /** A call that asks for less than it did has another result, and that is seen by its result. */
  isBehind(): boolean {
    return false;
  }

  [Symbol.dispose](): void {}
}
