import type { CapabilityResponse } from "../base/protocol/capability-call.ts";

/** One capability call of a call: what was asked, and what was answered. */
export interface JournalEntry {
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  /** JSON. */
  readonly args: string;
  /** How many answers the call had heard when it asked, where that is known. */
  readonly heard?: number;
  readonly answer: Promise<CapabilityResponse>;
}

/** When an answer came: which step's it was, and how many steps had been asked by then. */
export interface JournalResponse {
  readonly step: number;
  readonly asked: number;
  readonly answer: CapabilityResponse;
}

/**
 * What a call has asked of the world, and what came of it, each in its order. A call whose executor was lost is run
 * again against it: what was answered before is answered from here, so that no effect happens twice.
 */
export class Journal {
  /** By step, counted from 1. */
  readonly #entries: JournalEntry[] = [];
  readonly #answers: JournalResponse[] = [];

  get size(): number {
    return this.#entries.length;
  }

  entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  find(step: number): JournalEntry | undefined {
    return this.#entries[step - 1];
  }

  /** Takes in the step that follows the last one. Answers that were on their way then come after it. */
  append(entry: JournalEntry): void {
    const asked = this.#entries.push(entry);
    const heard = Math.max(0, entry.heard ?? this.#answers.length);
    for (let at = this.#answers.length - 1; at >= heard; at--) {
      const given = this.#answers[at];
      if (given !== undefined) this.#answers[at] = { ...given, asked };
    }
  }

  /** `asked` is how many steps had been asked by then. */
  noteAnswer(step: number, answer: CapabilityResponse, asked = this.#entries.length): void {
    this.#answers.push({ step, asked, answer });
  }

  /** The answer reached the call later, by the call's clock, than it came here. */
  noteTime(step: number, nowMs: number): void {
    const at = this.#answers.findIndex((answer) => answer.step === step);
    const given = this.#answers[at];
    if (given === undefined || given.answer.kind === "diverged") return;
    this.#answers[at] = { ...given, answer: { ...given.answer, nowMs } };
  }

  /** The call has ended, and had heard no more answers than these: the others were still on their way. */
  endAfter(heard: number): void {
    this.#answers.splice(Math.max(0, heard));
  }

  /** When a call that is run again hears what it was answered, as `PlannedAnswer[]` in JSON. */
  plan(): string {
    if (this.#answers.length === 0) return "";
    const plan = this.#answers.map(({ asked, answer }): [asked: number, nowMs: number] => {
      return [asked, answer.kind === "diverged" ? 0 : answer.nowMs];
    });
    return JSON.stringify(plan);
  }

  answers(): readonly JournalResponse[] {
    return this.#answers;
  }

  answerAt(position: number): JournalResponse | undefined {
    return this.#answers[position];
  }
}
