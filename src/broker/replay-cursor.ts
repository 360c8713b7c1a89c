import type { CapabilityResponse } from "../base/protocol/capability-call.ts";
import type { Journal, JournalEntry } from "./journal.ts";

/**
 * One attempt of a call as its journal sees it. It hears the answers in the order in which they came the first time,
 * and none before it has asked all that had been asked by then: a call that was ahead of an answer, because a timer
 * fired first for example, would otherwise take another way than before, and ask for something else.
 */
export class ReplayCursor {
  readonly attempt: number;
  readonly #journal: Journal;
  #asked = 0;
  #given = 0;
  /** Answers that wait for their turn, by step. */
  readonly #waiting = new Map<number, (answer: CapabilityResponse) => void>();

  constructor(attempt: number, journal: Journal) {
    this.attempt = attempt;
    this.#journal = journal;
  }

  /** How many steps were asked. */
  get asked(): number {
    return this.#asked;
  }

  give({ step, answer }: JournalEntry): Promise<CapabilityResponse> {
    this.#asked = Math.max(this.#asked, step);
    this.#giveDue();
    return new Promise((resolve) => {
      void answer.then(() => {
        this.#waiting.set(step, resolve);
        this.#giveDue();
      });
    });
  }

  #giveDue(): void {
    for (;;) {
      const next = this.#journal.answerAt(this.#given);
      if (next === undefined || next.asked > this.#asked) return;
      const resolve = this.#waiting.get(next.step);
      if (resolve === undefined) return;
      this.#waiting.delete(next.step);
      this.#given++;
      resolve(next.answer);
    }
  }
}
