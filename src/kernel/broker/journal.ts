import { hash } from "node:crypto";
import type { CapabilityCall, CapabilityResponse, Respond } from "../base/protocol/capability-call.ts";
import {
  addSharedTurn,
  LATE_MAX,
  type Failure,
  type LateTimer,
  type ReplayPlan,
  type SharedTurn,
} from "../base/protocol/messages.ts";
import type { JournalPart, RecordedAnswer, RecordedJournal } from "../base/protocol/recorded-journal.ts";

/** A capability call. */
export interface JournalEntry extends Pick<CapabilityCall, "step" | "deliveredCount" | "capability" | "method"> {
  /** The arguments as JSON, or the digest of a longer text: enough to recognise them. */
  readonly args: string;
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
  /**
   * Number of the first responses whose order is known. The others have not reached the call, so they are ordered after
   * all of its capability calls so far.
   */
  #ordered = 0;
  /** Indices of responses by step. */
  readonly #indices = new Map<number, number>();
  readonly #late: LateTimer[] = [];
  readonly #together: SharedTurn[] = [];
  readonly #isRecorded: boolean;
  /** Above 1 if the steps before went to a broker that has ended. */
  #firstStep = 1;
  /** Contents of the parts so far: entries, responses, and those of the responses whose order was known. */
  #told = { asks: 0, answers: 0, ordered: 0 };

  /** `isRecorded`: of a call that has ended, so that nothing can be added. */
  constructor(isRecorded = false) {
    this.#isRecorded = isRecorded;
  }

  /** The journal of an earlier run, to which more is added. */
  static from({ asks, answers, late = [], together = [] }: RecordedJournal, isRecorded = false): Journal {
    const journal = new Journal(isRecorded);
    for (const [at, ask] of asks.entries()) journal.append({ ...ask, step: at + 1 });
    for (const answer of answers) journal.recordResponse(answer.step, responseOf(answer), answer.asked);
    for (const [fired, nowMs] of late) journal.recordLate(fired, nowMs);
    for (const [at, count] of together) journal.recordTogether(at, count);
    return journal;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Whether an entry with that step may follow: there are no gaps. */
  isNext(step: number): boolean {
    return this.#entries.length === 0 || step === this.#firstStep + this.#entries.length;
  }

  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  get responses(): readonly OrderedResponse[] {
    const asked = this.#entries.length;
    return this.#responses.map((one, at) => (at < this.#ordered ? one : { ...one, asked }));
  }

  get responseCount(): number {
    return this.#responses.length;
  }

  /** Steps without a response, in order. */
  get unanswered(): readonly number[] {
    return this.#entries.map(({ step }) => step).filter((step) => !this.#indices.has(step));
  }

  /** The response at an index, in order. */
  responseAt(at: number): OrderedResponse | undefined {
    const response = this.#responses[at];
    if (response === undefined || at < this.#ordered) return response;
    return { ...response, asked: this.#entries.length };
  }

  find(step: number): JournalEntry | undefined {
    return this.#entries[step - this.#firstStep];
  }

  /**
   * Appends the next step. Responses that had not yet reached the call when it made this capability call are ordered
   * after it.
   */
  append(entry: JournalEntry): void {
    if (this.#entries.length === 0) this.#firstStep = entry.step;
    this.#orderUntil(Math.min(entry.deliveredCount ?? this.#responses.length, this.#responses.length));
    this.#entries.push(entry);
  }

  /** `asked`: number of capability calls made before the response, if its order is known. */
  recordResponse(step: number, response: CapabilityResponse, asked?: number): void {
    if (asked !== undefined) this.#orderUntil(this.#responses.length);
    this.#indices.set(step, this.#responses.push({ step, asked: asked ?? this.#entries.length, response }) - 1);
    if (asked !== undefined) this.#ordered = this.#responses.length;
  }

  /** Corrects the time of a response: the call received it later, by its own clock, than the broker recorded it. */
  recordTime(step: number, nowMs: number): void {
    const at = this.#indices.get(step) ?? -1;
    const ordered = this.#responses[at];
    if (ordered !== undefined) this.#responses[at] = { ...ordered, response: { ...ordered.response, nowMs } };
  }

  /** Records a timer turn that began later, by the call's clock, than its timer was due. */
  recordLate(fired: number, nowMs: number): void {
    if (this.#late.length < LATE_MAX) this.#late.push([fired, nowMs]);
  }

  get late(): readonly LateTimer[] {
    return this.#late;
  }

  /** Records that so many responses from an index on reached the call in one turn. */
  recordTogether(at: number, count: number): void {
    addSharedTurn(this.#together, [at, count], this.#responses.length);
  }

  get together(): readonly SharedTurn[] {
    return this.#together;
  }

  /** Removes the responses after the first `deliveredCount`: the call ended before they reached it. */
  endAfter(deliveredCount: number): void {
    for (const { step } of this.#responses.splice(Math.max(0, deliveredCount))) this.#indices.delete(step);
    this.#ordered = Math.min(this.#ordered, this.#responses.length);
    while (endOf(this.#together.at(-1)) > this.#responses.length) this.#together.pop();
  }

  /** Length of its texts, in UTF-16 units; `brief`: with digests of long arguments. */
  lengthOf(form: "whole" | "brief"): number {
    const most = form === "whole" ? Infinity : TEXT_MAX;
    const asked = this.#entries.reduce((sum, { args }) => sum + Math.min(args.length, most) + ENTRY_LENGTH, 0);
    return this.#responses.reduce((sum, { response }) => sum + lengthOf(response) + ENTRY_LENGTH, asked);
  }

  /** `brief`: with digests of long arguments. */
  record(form: "whole" | "brief" = "whole"): RecordedJournal {
    const shown = form === "whole" ? (args: string): string => args : digestOf;
    return {
      asks: this.#entries.map(({ capability, method, args }) => ({ capability, method, args: shown(args) })),
      answers: this.responses.map(toRecorded),
      ...(this.#late.length === 0 ? {} : { late: this.#late }),
      ...(this.#together.length === 0 ? {} : { together: this.#together }),
    };
  }

  /** The additions since the last call of this; `null` for none. */
  takePart(): JournalPart | null {
    const { asks, answers, ordered: kept } = this.#told;
    const [size, count] = [this.#entries.length, this.#responses.length];
    if (asks === size && answers === count) return null;
    this.#told = { asks: size, answers: count, ordered: this.#ordered };
    return {
      asks: this.#entries.slice(asks).map(({ capability, method, args }) => ({ capability, method, args })),
      kept,
      answers: this.responses.slice(kept).map(toRecorded),
      late: this.#late,
      together: this.#together,
    };
  }

  /** The `ReplayPlan` of a call that is run again, in JSON; empty text without any event. */
  plan(): string {
    if (this.#entries.length === 0 && this.#late.length === 0 && !this.#isRecorded) return "";
    const count = this.#entries.length;
    const responses = this.#responses.map(
      (one, at) => [at < this.#ordered ? one.asked : count, one.response.nowMs] as const,
    );
    const asked = this.#isRecorded ? null : count;
    return JSON.stringify({ asked, responses, late: this.#late, together: this.#together } satisfies ReplayPlan);
  }

  /** Orders the first `count` responses: they reached the call before its next capability call. */
  #orderUntil(count: number): void {
    const asked = this.#entries.length;
    for (; this.#ordered < count; this.#ordered++) {
      const response = this.#responses[this.#ordered];
      if (response !== undefined && response.asked !== asked) this.#responses[this.#ordered] = { ...response, asked };
    }
  }
}

/** About the length of an entry as JSON besides its text. */
const ENTRY_LENGTH = 64;

function lengthOf(response: CapabilityResponse): number {
  return response.kind === "value" ? response.json.length : response.failure.message.length;
}

function responseOf({ ok, nowMs, payload }: RecordedAnswer): CapabilityResponse {
  if (ok) return { kind: "value", nowMs, json: payload };
  return { kind: "failure", nowMs, failure: JSON.parse(payload) as Failure };
}

function toRecorded({ step, asked, response }: OrderedResponse): RecordedAnswer {
  const { nowMs } = response;
  if (response.kind === "value") return { step, asked, nowMs, ok: true, payload: response.json };
  return { step, asked, nowMs, ok: false, payload: JSON.stringify(response.failure) };
}

/** Index after the responses of a turn. */
function endOf([at, count]: SharedTurn = [0, 0]): number {
  return at + count;
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
  /** Receivers of responses that are not there yet, or wait for their turn, by step. */
  readonly #waiting = new Map<number, Respond>();

  constructor(attempt: number, journal: Journal) {
    this.attempt = attempt;
    this.#journal = journal;
  }

  /** The last step that this attempt has reached. */
  get asked(): number {
    return this.#asked;
  }

  /** Called when the attempt has reached a step. It gets the response when that is due: now or later. */
  ask(step: number, respond: Respond): void {
    this.#asked = Math.max(this.#asked, step);
    this.#waiting.set(step, respond);
    this.deliver();
  }

  /** Delivers the responses that are due. */
  deliver(): void {
    for (;;) {
      const next = this.#journal.responseAt(this.#delivered);
      if (next === undefined || next.asked > this.#asked) return;
      const respond = this.#waiting.get(next.step);
      if (respond === undefined) return;
      this.#waiting.delete(next.step);
      this.#delivered++;
      respond(next.response);
    }
  }
}
