import { hash } from "node:crypto";
import type { CapabilityCall, CapabilityResponse } from "../base/protocol/capability-call.ts";
import type { ReplayPlan } from "../base/protocol/messages.ts";

/** A capability call and its response. */
export interface JournalEntry extends Pick<CapabilityCall, "step" | "deliveredCount" | "capability" | "method"> {
  /** The arguments as JSON, or the digest of a longer text: enough to know them again. */
  readonly args: string;
  readonly response: Promise<CapabilityResponse>;
}

/** Longest arguments kept as text, in characters. */
const TEXT_MAX = 256;

/** Arguments as the journal keeps them. The digest of a text that is a digest is that text. */
export function digestOf(args: string): string {
  return args.length <= TEXT_MAX ? args : `${args.length}:${hash("sha256", args, "base64")}`;
}

/** Whether an entry is of the same capability call, made again. */
export function isSame(entry: Pick<JournalEntry, "capability" | "method" | "args">, call: CapabilityCall): boolean {
  if (entry.capability !== call.capability || entry.method !== call.method) return false;
  return entry.args === call.args || entry.args === digestOf(call.args);
}

/** A response with its position in the order of events: after `asked` capability calls. */
export interface OrderedResponse extends Pick<CapabilityCall, "step"> {
  readonly asked: number;
  readonly response: CapabilityResponse;
}

/**
 * Capability calls of a call and their responses, each in order. A call whose executor was lost is run again against
 * its journal: a capability call that has a response gets the same response again, so that no effect happens twice.
 */
export class Journal {
  /** Entries by step; the first step is 1. */
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

  /**
   * Appends the next step. Responses that had not yet reached the call when it made this capability call are ordered
   * after it.
   */
  append(entry: JournalEntry): void {
    const asked = this.#entries.push(entry);
    const deliveredCount = Math.max(0, entry.deliveredCount ?? this.#responses.length);
    for (let at = this.#responses.length - 1; at >= deliveredCount; at--) {
      const ordered = this.#responses[at];
      if (ordered !== undefined) this.#responses[at] = { ...ordered, asked };
    }
  }

  /** `asked`: number of capability calls made before the response. */
  recordResponse(step: number, response: CapabilityResponse, asked = this.#entries.length): void {
    this.#responses.push({ step, asked, response });
  }

  /** Corrects the time of a response: the call received it later, by its own clock, than the broker recorded it. */
  recordTime(step: number, nowMs: number): void {
    const at = this.#responses.findIndex((ordered) => ordered.step === step);
    const ordered = this.#responses[at];
    if (ordered !== undefined) this.#responses[at] = { ...ordered, response: { ...ordered.response, nowMs } };
  }

  /** Removes the responses after the first `deliveredCount`: the call ended before they reached it. */
  endAfter(deliveredCount: number): void {
    this.#responses.splice(Math.max(0, deliveredCount));
  }

  /** Order and times of the responses for a call that is run again: a `ReplayPlan` in JSON, or empty text. */
  plan(): string {
    if (this.#responses.length === 0) return "";
    const plan: ReplayPlan = this.#responses.map(({ asked, response }) => [asked, response.nowMs] as const);
    return JSON.stringify(plan);
  }
}

/**
 * One attempt of a call against its journal. Delivers responses in their original order, and each only after the call
 * has made all capability calls that preceded it. A call that runs ahead of a response, for example because a timer
 * fires earlier, could otherwise take another path and make other capability calls.
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

  /** The last step that this attempt has reached. */
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
