import type { Answer } from "../executor/executor.ts";

/** One capability call of a call: what was asked, and what was answered. */
export interface JournalEntry {
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  /** JSON. */
  readonly args: string;
  readonly answer: Promise<Answer>;
}

/** When an answer came: which step's it was, and how many steps had been asked by then. */
export interface JournalAnswer {
  readonly step: number;
  readonly asked: number;
  readonly answer: Answer;
}

/**
 * What a call has asked of the world, and what came of it, each in its order. A call whose executor was lost is run
 * again against it: what was answered before is answered from here, so that no effect happens twice.
 */
export class Journal {
  /** By step, counted from 1. */
  readonly #entries: JournalEntry[] = [];
  readonly #answers: JournalAnswer[] = [];

  get size(): number {
    return this.#entries.length;
  }

  entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  find(step: number): JournalEntry | undefined {
    return this.#entries[step - 1];
  }

  /** Takes in the step that follows the last one. */
  append(entry: JournalEntry): void {
    this.#entries.push(entry);
  }

  /** `asked` is how many steps had been asked by then. */
  noteAnswer(step: number, answer: Answer, asked = this.#entries.length): void {
    this.#answers.push({ step, asked, answer });
  }

  /** The answer reached the call later, by the call's clock, than it came here. */
  noteTime(step: number, nowMs: number): void {
    const at = this.#answers.findIndex((answer) => answer.step === step);
    const given = this.#answers[at];
    if (given === undefined || given.answer.kind === "diverged") return;
    this.#answers[at] = { ...given, answer: { ...given.answer, nowMs } };
  }

  answers(): readonly JournalAnswer[] {
    return this.#answers;
  }

  answerAt(position: number): JournalAnswer | undefined {
    return this.#answers[position];
  }
}
