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

/**
 * What a call has asked of the world, in order. A call whose executor was lost is run again against it: what was
 * answered before is answered from here, so that no effect happens twice.
 */
export class Journal {
  readonly #entries = new Map<number, JournalEntry>();

  get size(): number {
    return this.#entries.size;
  }

  entries(): Iterable<JournalEntry> {
    return this.#entries.values();
  }

  find(step: number): JournalEntry | undefined {
    return this.#entries.get(step);
  }

  append(entry: JournalEntry): void {
    this.#entries.set(entry.step, entry);
  }
}
