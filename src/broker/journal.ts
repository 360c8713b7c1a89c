import type { CapabilityCall, CapabilityResponse } from "../base/protocol/capability-call.ts";
import type { ReplayPlan } from "../base/protocol/messages.ts";

/** One capability call of a call, and its response. */
export interface JournalEntry extends Pick<CapabilityCall, "step" | "heard" | "capability" | "method" | "args"> {
  readonly response: Promise<CapabilityResponse>;
}

/** A response at its place in the order of responses: after `asked` capability calls. */
export interface OrderedResponse extends Pick<CapabilityCall, "step"> {
  readonly asked: number;
  readonly response: CapabilityResponse;
}

/**
 * The capability calls of a call and their responses, each in its order. A call whose executor was lost is run again against
 * it: what has a response already gets that response again, so that no effect happens twice.
 */
export class Journal {
  /** By step, counted from 1. */
  readonly #entries: JournalEntry[] = [];
  readonly #responses: OrderedResponse[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  get responses(): readonly OrderedResponse[] {
    return this.#responses;
  }

  find(step: number): JournalEntry | undefined {
    return this.#entries[step - 1];
  }

  /** Appends the step that follows the last one. Responses that were on their way to the call by then come after it. */
  append(entry: JournalEntry): void {
    const asked = this.#entries.push(entry);
    const heard = Math.max(0, entry.heard ?? this.#responses.length);
    for (let at = this.#responses.length - 1; at >= heard; at--) {
      const ordered = this.#responses[at];
      if (ordered !== undefined) this.#responses[at] = { ...ordered, asked };
    }
  }

  /** `asked`: how many capability calls the call had made by then. */
  recordResponse(step: number, response: CapabilityResponse, asked = this.#entries.length): void {
    this.#responses.push({ step, asked, response });
  }

  /** The response reached the call later, by the call's clock, than it came here. */
  recordTime(step: number, nowMs: number): void {
    const at = this.#responses.findIndex((ordered) => ordered.step === step);
    const ordered = this.#responses[at];
    if (ordered !== undefined) this.#responses[at] = { ...ordered, response: { ...ordered.response, nowMs } };
  }

  /** Removes the responses after the first `heard`: the call has ended before they reached it. */
  endAfter(heard: number): void {
    this.#responses.splice(Math.max(0, heard));
  }

  /** When a call that is run again gets each response: a `ReplayPlan` in JSON, or empty text. */
  plan(): string {
    if (this.#responses.length === 0) return "";
    const plan: ReplayPlan = this.#responses.map(({ asked, response }) => [asked, response.nowMs] as const);
    return JSON.stringify(plan);
  }
}

/**
 * One start of a call against its journal. It gets responses in the order in which they came the first time, and none before
 * it has made all capability calls that had been made by then: a call that was ahead of a response, because a timer fired
 * first for example, would otherwise take another way than before, and ask for something else.
 */
export class ReplayCursor {
  readonly attempt: number;
  readonly #journal: Journal;
  #asked = 0;
  #delivered = 0;
  /** Capability calls whose responses wait for their turn, by step. */
  readonly #waiting = new Map<number, (response: CapabilityResponse) => void>();

  constructor(attempt: number, journal: Journal) {
    this.attempt = attempt;
    this.#journal = journal;
  }

  /** The last step that this start has come to. */
  get asked(): number {
    return this.#asked;
  }

  deliver({ step, response }: JournalEntry): Promise<CapabilityResponse> {
    this.#asked = Math.max(this.#asked, step);
    this.#deliverDue();
    return new Promise((resolve) => {
      void response.then(() => {
        this.#waiting.set(step, resolve);
        this.#deliverDue();
      });
    });
  }

  #deliverDue(): void {
    for (;;) {
      const next = this.#journal.responses[this.#delivered];
      if (next === undefined || next.asked > this.#asked) return;
      const resolve = this.#waiting.get(next.step);
      if (resolve === undefined) return;
      this.#waiting.delete(next.step);
      this.#delivered++;
      resolve(next.response);
    }
  }
}
