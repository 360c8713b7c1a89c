import {
  type CapabilityCall,
  type CapabilityResponse,
  childAnswer,
  DIVERGED,
  type Diverged,
  type Respond,
} from "../base/protocol/capability-call.ts";
import type { LateMessage, TimedMessage, TogetherMessage } from "../base/protocol/messages.ts";
import type { RecordedJournal } from "../base/protocol/recorded-journal.ts";
import type { BrokeredCall, CallKeep } from "./brokered-call.ts";
import { TOOL_CALLS } from "./capabilities/program-tools.ts";
import { CapabilityInvoker, type InvokerHost, type LastRefusal } from "./capability-invoker.ts";
import type { Grants } from "./grants.ts";
import { digestOf, isSame, Journal, type JournalEntry, ReplayCursor } from "./journal.ts";

/** Totals of a session, sent when its call has ended. */
export interface SessionEnd {
  /** Number of handlers called that may have changed something that cannot be undone. */
  readonly effects: number;
  readonly lastRefusal: LastRefusal | null;
  /** Whether the last attempt ended before it repeated all capability calls of earlier attempts. */
  readonly isBehind: boolean;
  /** `null` for a call that is not recorded. */
  readonly journal: RecordedJournal | null;
}

/** The end of a call's last attempt. */
export interface AttemptEnd {
  /** `null`: the attempt that made the last capability call, as the session's owner closes. */
  readonly attempt: number | null;
  /** Number of responses delivered to the call, if known. */
  readonly deliveredCount?: number | undefined;
}

/** Source of responses to the capability calls of one call: a broker, or a recording. */
export interface CallSession {
  readonly journal: Journal;
  /** Gives `respond` the response, at once if it is ready. Never throws. */
  invoke(call: CapabilityCall, respond: Respond): void;
  end(end: AttemptEnd): SessionEnd;
}

/** Progress of a run: its capability calls, the responses delivered to it, and the steps for which it waits. */
export interface RunProgress {
  readonly asked: number;
  readonly delivered: number;
  readonly open: readonly number[];
}

/** Length from which a journal is not kept, in UTF-16 units. */
const JOURNAL_MAX = 8 * 1024 * 1024;

const TOO_LONG = `what it has asked and heard is longer than ${JOURNAL_MAX} characters`;

/** State of a run at rest: its capability calls and their responses. */
export type SessionSnapshot =
  /** JSON of its journal, and of the `ReplayPlan` of a run that continues from it. */
  | { readonly kind: "journal"; readonly journal: string; readonly plan: string }
  /** The run cannot be kept. */
  | { readonly kind: "refused"; readonly reason: string };

/** The broker's side of one call: its journal, and its use of the limits. */
export class BrokerSession implements CallSession {
  readonly journal: Journal;
  readonly #host: InvokerHost;
  readonly #caller: BrokeredCall;
  readonly #invoker: CapabilityInvoker;
  #replay: ReplayCursor;
  #isEnded = false;
  /** Announced steps whose answers are to be stored. */
  readonly #begun = new Set<number>();
  /** Steps of an earlier run without an answer, which this run has not reached yet. */
  readonly #waits: Set<number>;
  /** Resolves when capability calls after the snapshot may begin: a later run from the snapshot would repeat them. */
  #rest: PromiseWithResolvers<void> | null = null;

  constructor(host: InvokerHost, caller: BrokeredCall, grants: Grants) {
    const journal = caller.journal === undefined ? undefined : (JSON.parse(caller.journal) as RecordedJournal);
    this.journal = journal === undefined ? new Journal() : Journal.from(journal);
    this.#waits = new Set(this.journal.unanswered);
    this.#host = host;
    this.#caller = caller;
    this.#invoker = new CapabilityInvoker(host, caller, grants, caller.keep && ((step) => this.#announce(step)));
    if (journal !== undefined) this.#invoker.recount(journal);
    // The journal from which it continues is stored already.
    this.journal.takePart();
    this.#replay = new ReplayCursor(1, this.journal);
  }

  get effects(): number {
    return this.#invoker.effects;
  }

  /** Records a note of the call's worker, for a further attempt. */
  note(note: TimedMessage | LateMessage | TogetherMessage): void {
    switch (note.kind) {
      case "timed":
        return this.journal.recordTime(note.step, note.nowMs);
      case "late":
        return this.journal.recordLate(note.fired, note.nowMs);
      case "together":
        return this.journal.recordTogether(note.at, note.count);
    }
  }

  /** Aborts handlers that are still running, and releases the resources of capabilities. */
  end({ attempt, deliveredCount }: AttemptEnd): SessionEnd {
    this.#isEnded = true;
    this.#invoker[Symbol.dispose]();
    this.goOn();
    if (deliveredCount !== undefined) this.journal.endAfter(deliveredCount);
    const { effects, lastRefusal } = this.#invoker;
    const journal = this.#caller.isRecorded === true ? this.journal.record() : null;
    return { effects, lastRefusal, isBehind: this.#isBehind(attempt), journal };
  }

  /**
   * The parts of an ended call's record that the session has, in UTF-8: a line with its capability calls, and one with
   * its journal, which is empty if there is no room for it. `null` for a call without a record.
   */
  tell(journalMax: number): Uint8Array<ArrayBuffer> | null {
    const { log, isRecorded } = this.#caller;
    if (log === undefined) return null;
    const startMs = performance.now();
    // A replay knows arguments by their digests.
    const form = isRecorded === true ? "whole" : "brief";
    const isShort = log.hasValues && this.journal.lengthOf(form) <= journalMax;
    const journal = isShort ? JSON.stringify(this.journal.record(form)) : "";
    const told = new TextEncoder().encode(`${log.text()}\n${journal.length <= journalMax ? journal : ""}`);
    this.#host.work.note(this.#invoker.account, performance.now() - startMs);
    return told;
  }

  #isBehind(attempt: number | null): boolean {
    const { attempt: last, asked } = this.#replay;
    return attempt === null || last === attempt ? asked < this.journal.size : this.journal.size > 0;
  }

  /** Responds from the journal if the call has made the same capability call before. */
  invoke(call: CapabilityCall, respond: Respond): void {
    if (call.attempt !== this.#replay.attempt) this.#replay = new ReplayCursor(call.attempt, this.journal);
    const known = this.journal.find(call.step);
    if (known !== undefined) {
      if (!isSame(known, call)) return respond(this.#diverge(call));
      if (this.#waits.delete(call.step)) return this.#goOn(call, respond);
      this.#host.record(this.#caller, call, "replayed", { rules: this.#invoker.rules(call.capability) });
      return this.#replay.ask(call.step, respond);
    }
    // The guest counts its steps without gaps, so a gap means that the worker is compromised.
    if (!this.journal.isNext(call.step)) return respond(this.#diverge(call));
    // The worker lets one call over the limit through, so that the tool gets an error. More than one means that the
    // worker is compromised.
    if (this.#invoker.isBeyond(call)) return respond(this.#diverge(call));
    const { step, capability, method, deliveredCount } = call;
    const kept = this.#keep(call);
    const entry: JournalEntry = {
      step,
      capability,
      method,
      args: kept.args,
      ...(deliveredCount === undefined ? {} : { deliveredCount }),
    };
    this.journal.append(entry);
    this.#replay.ask(step, respond);
    const { reply } = call;
    const response = this.#invoker.invoke(call, kept.isHeld, reply === undefined ? this.#rest?.promise : undefined);
    if (reply !== undefined)
      // The call has received this answer already, so it counts even if `invoke` fails.
      this.#record(step, { kind: "value", nowMs: reply.answeredMs, json: childAnswer(reply) });
    else if (response instanceof Promise) void response.then((given) => this.#record(step, given));
    else this.#record(step, response);
  }

  /** Carries out a capability call for which an earlier run waited: time has passed since. */
  #goOn(call: CapabilityCall, respond: Respond): void {
    this.#replay.ask(call.step, respond);
    const atNow = (given: CapabilityResponse): void =>
      this.#record(call.step, { ...given, nowMs: Math.max(given.nowMs, Date.now()) });
    const response = this.#invoker.invoke(call, true);
    if (response instanceof Promise) void response.then(atNow);
    else atNow(response);
  }

  /**
   * The journal of a run that only waits; `null` if it is not at rest yet. Its later capability calls wait until
   * `goOn`.
   */
  snapshot({ asked, delivered, open }: RunProgress): SessionSnapshot | null {
    const { journal } = this;
    if (journal.size !== asked || journal.responseCount !== delivered) return null;
    // Another capability call is in progress.
    const { unanswered } = journal;
    if (unanswered.length !== open.length || unanswered.some((step) => !open.includes(step))) return null;
    const { held } = this.#invoker;
    if (held !== null) return { kind: "refused", reason: `it has ${held}, which it would not find again` };
    if (journal.lengthOf("whole") > JOURNAL_MAX) return { kind: "refused", reason: TOO_LONG };
    const startMs = performance.now();
    const text = JSON.stringify(journal.record());
    this.#host.work.note(this.#invoker.account, performance.now() - startMs);
    if (this.#rest === null) {
      const rest = (this.#rest = Promise.withResolvers<void>());
      // Capability calls of this turn still queue behind those that wait.
      void rest.promise.then(() => (this.#rest = null));
    }
    return { kind: "journal", journal: text, plan: journal.plan() };
  }

  /** Continues the run after its snapshot. */
  goOn(): void {
    this.#rest?.resolve();
  }

  /**
   * The arguments as the journal keeps them, and whether there was room for the entry. Arguments of tools are kept
   * whole, as undoing a stored call needs them.
   */
  #keep({ capability, method, args }: CapabilityCall): { readonly args: string; readonly isHeld: boolean } {
    const isWhole = this.#caller.isRecorded === true || TOOL_CALLS.includes(`${capability}.${method}`);
    if (isWhole && this.#invoker.hold(args.length)) return { args, isHeld: true };
    const startMs = performance.now();
    const digest = digestOf(args);
    if (digest !== args) this.#host.work.note(this.#invoker.account, performance.now() - startMs);
    return { args: digest, isHeld: this.#invoker.hold(digest.length) };
  }

  #record(step: number, response: CapabilityResponse): void {
    this.journal.recordResponse(step, response);
    this.#replay.deliver();
    // An aborted handler fails, whether or not its effect happened.
    if (this.#begun.delete(step) && !this.#isEnded) this.#append();
  }

  /** Stores the call's capability calls and responses before a step that may have an effect. */
  #announce(step: number): CallKeep | undefined {
    this.#begun.add(step);
    this.#append();
    return this.#caller.keep;
  }

  #append(): void {
    const part = this.journal.takePart();
    if (part !== null) this.#caller.keep?.append?.(JSON.stringify(part));
  }

  #diverge(call: CapabilityCall): Diverged {
    this.#host.record(this.#caller, call, "diverged");
    const { step } = call;
    const message = `${DIVERGED}after its executor was lost, the call made another capability call at step ${step} than in its first run`;
    return { kind: "diverged", message };
  }
}
