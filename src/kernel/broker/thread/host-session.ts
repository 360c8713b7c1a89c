import type { Progress } from "../../base/result.ts";
import type { CapabilityCall, Respond } from "../../base/protocol/capability-call.ts";
import { HostAccount, type TenantAccounts } from "../../base/tenant-account.ts";
import type { AskLogging } from "../ask-log.ts";
import { CallFailure } from "../capabilities/capability.ts";
import type { BrokeredCall } from "../brokered-call.ts";
import type { AttemptEnd, RunProgress, SessionEnd, SessionSnapshot } from "../call-session.ts";
import type { CapabilityEvent } from "../capability-event.ts";
import type { Failure } from "../../base/errors.ts";
import type { Grants } from "../grants.ts";
import type { EndedMethod } from "../method-call.ts";
import { CallHandlers, type HandlerHost } from "./call-handlers.ts";
import type { HostMethod } from "./host-capability.ts";
import type { FromThread, ReplayNote, ToldOutcome, ToThread } from "./messages.ts";
import type { Outbox } from "./outbox.ts";
import type { BrokerPlace } from "./start.ts";

/** Spans of a call's capability calls. */
export interface SessionTrace {
  /** Runs a handler of this thread with the span of its capability call active. */
  handle(ask: Pick<CapabilityCall, "capability" | "method" | "step">, run: () => void): void;
  /** Records the end of a capability call: `tell` runs with its span active. */
  record(outcome: ToldOutcome, tell: () => void): void;
}

/** A call as the engine opens its session. */
export interface HostedCall extends BrokeredCall {
  readonly callNumber: number;
  /** The tool, which is sent to the broker once. */
  readonly version: object;
  readonly trace: SessionTrace | null;
  /** Logging of its capability calls. Default: its record has none. */
  readonly logging?: AskLogging | undefined;
  /** Receives the events of this call, which the engine also receives. */
  readonly onOutcome?: ((event: CapabilityEvent) => void) | undefined;
  /** Receives progress that another server reports of its tool. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called if the journal is lost that the call repeats: the call must not continue. */
  readonly onLost?: () => void;
}

/** The session of a call, as the engine has it. */
export interface EngineSession {
  readonly account: HostAccount;
  /** Begins an attempt on a worker with that pipe to the broker. */
  begin(pipe: number, attempt: number): void;
  /** Sends a capability call to the broker. Never throws. */
  ask(ask: CapabilityCall, respond: Respond): void;
  note(note: ReplayNote): void;
  /**
   * The `ReplayPlan` of a further attempt; `null` if the journal is lost. Ignores later messages of earlier attempts.
   */
  plan(): Promise<string | null>;
  /** The journal of a run at rest; `null` if it is not at rest yet, or is lost. Capability calls after it wait. */
  snapshot(progress: RunProgress): Promise<SessionSnapshot | null>;
  /** Continues the run after its snapshot: capability calls made since then begin. */
  goOn(): void;
  /**
   * Ends the session. `asked`: whether the worker has reported the end to the broker itself, after the capability calls
   * of the last attempt; `undefined` if that is not known. `null` for a call without capability calls.
   */
  end(end: AttemptEnd, asked?: boolean): SessionEnd | Promise<SessionEnd> | null;
  /** The broker's part of an ended call's record; `null` if none exists. If not `isKept`, the broker forgets it. */
  take(isKept: boolean): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer> | null> | null;
}

/** The start of the broker that has a session. */
export interface SessionRun {
  readonly place: BrokerPlace;
  readonly isDead: boolean;
  readonly outbox: Outbox<ToThread>;
}

/** The broker's client, as its sessions need it. */
export interface SessionHost extends HandlerHost {
  readonly accounts: TenantAccounts;
  /** Announces the call to the broker. Returns the broker's run with its session, which may be dead already. */
  startSession(session: HostSession): SessionRun;
  onOutcome(event: CapabilityEvent): void;
  /** Called at the broker's last message about a call. */
  forget(session: HostSession): void;
}

interface PendingAsk {
  readonly ask: CapabilityCall;
  readonly respond: Respond;
  readonly startMs: number;
}

const LABEL_MAX = 130;
/** Time for a worker to report an end to the broker that it has reported to the engine, in milliseconds. */
const UNHEARD_MS = 2_000;

/** Failure of a call that would have to be repeated without its journal. */
export const JOURNAL_LOST: Failure = {
  code: "executor_lost",
  message: "the call lost its executor, and the broker with the journal of its capability calls: call the tool again",
};

/** The engine's side of a call's session, which is on the broker thread. */
export class HostSession implements EngineSession {
  readonly caller: HostedCall;
  readonly grants: Grants;
  readonly account: HostAccount;
  readonly #host: SessionHost;
  readonly #handlers: CallHandlers;
  #run: SessionRun;
  /** Capability calls that did not come by a worker's pipe, by attempt and step. */
  readonly #asks = new Map<string, PendingAsk>();
  #plan: PromiseWithResolvers<string | null> | null = null;
  #snapshot: PromiseWithResolvers<SessionSnapshot | null> | null = null;
  #end: PromiseWithResolvers<SessionEnd> | null = null;
  #effects = 0;
  /** Whether it has made no capability calls, so that nothing waits for its end. */
  #isQuiet = false;
  /** The call's end, as the broker has reported it. */
  #ended: SessionEnd | null = null;
  #unheard: NodeJS.Timeout | undefined;
  /** Whether the broker keeps it until it is taken. */
  #isHeld = false;
  #kept: PromiseWithResolvers<Uint8Array<ArrayBuffer> | null> | null = null;
  /** Whether the broker with the journal has ended. */
  #isBroken = false;
  /** Whether the call was answered while there was no broker: no journal has these answers. */
  #isIncomplete = false;
  /** Whether an attempt repeats the journal, or is about to. */
  #isRepeating = false;
  /** Whether its journal may have entries. */
  #hasAsked = false;
  /** The attempt that began last, where its worker has a pipe to the broker. */
  #attempt: number | null = null;

  constructor(host: SessionHost, caller: HostedCall, grants: Grants) {
    this.#host = host;
    this.caller = caller;
    this.grants = grants;
    this.account = caller.account ?? new HostAccount(caller.tenant, host.accounts.of(caller.tenant));
    this.#handlers = new CallHandlers(host, caller, this.account);
    this.#run = host.startSession(this);
  }

  get callNumber(): number {
    return this.caller.callNumber;
  }

  begin(pipe: number, attempt: number): void {
    if (this.#run.isDead) this.#run = this.#host.startSession(this);
    this.#attempt = attempt;
    this.#run.outbox.push({ kind: "begin", call: this.callNumber, pipe, attempt });
  }

  ask(ask: CapabilityCall, respond: Respond): void {
    // Earlier capability calls went to a broker that ended before it reported them.
    if (!this.#hasAsked && this.#attempt === null && ask.step > 1) this.#isBroken = true;
    this.#hasAsked = true;
    this.#attempt = null;
    if (this.#run.isDead) this.#run = this.#host.startSession(this);
    const pending = { ask, respond, startMs: performance.now() };
    if (this.#run.isDead) {
      this.#isIncomplete = true;
      return this.#lose(pending);
    }
    this.#asks.set(`${ask.attempt} ${ask.step}`, pending);
    this.#run.outbox.push({ kind: "ask", call: this.callNumber, ask });
  }

  note(note: ReplayNote): void {
    this.#hasAsked = true;
    this.#run.outbox.push({ kind: "note", note });
  }

  plan(): Promise<string | null> {
    this.#asks.clear();
    if (this.#isBroken || this.#isIncomplete) return Promise.resolve(null);
    if (this.#run.isDead) return Promise.resolve("");
    if (this.#plan === null) {
      this.#plan = Promise.withResolvers();
      this.#run.outbox.push({ kind: "plan", call: this.callNumber });
    }
    return this.#plan.promise;
  }

  snapshot(progress: RunProgress): Promise<SessionSnapshot | null> {
    if (this.#isBroken || this.#isIncomplete || this.#run.isDead) return Promise.resolve(null);
    if (this.#snapshot === null) {
      this.#snapshot = Promise.withResolvers();
      this.#run.outbox.push({ kind: "snapshot", call: this.callNumber, progress });
    }
    return this.#snapshot.promise;
  }

  goOn(): void {
    this.#run.outbox.push({ kind: "goOn", call: this.callNumber });
  }

  end(end: AttemptEnd, asked?: boolean): Promise<SessionEnd> | null {
    this.#asks.clear();
    this.#end ??= Promise.withResolvers();
    this.#handlers.end();
    const isQuiet = asked === false && !this.#hasAsked && !this.#isBroken;
    this.#isQuiet = isQuiet;
    if (this.#run.isDead) this.#end.resolve(this.#lostEnd());
    else if (this.#ended !== null) this.#conclude(this.#end, this.#ended);
    else if (asked === true) this.#unheard = setTimeout(() => this.#askForEnd(end), UNHEARD_MS).unref();
    else this.#askForEnd(end, !isQuiet);
    return isQuiet ? null : this.#end.promise;
  }

  /** Both the broker and the engine know that the call has ended. Until then, the broker keeps the journal. */
  #conclude(waiting: PromiseWithResolvers<SessionEnd>, end: SessionEnd): void {
    clearTimeout(this.#unheard);
    if (this.caller.logging === undefined || this.#isQuiet || this.#run.isDead) this.#letGo();
    else this.#isHeld = true;
    waiting.resolve(end);
  }

  #letGo(): void {
    this.#isHeld = false;
    this.#run.outbox.pushLater({ kind: "end", call: this.callNumber, end: { attempt: 0 } });
    this.#host.forget(this);
  }

  take(isKept: boolean): Promise<Uint8Array<ArrayBuffer> | null> | null {
    if (!this.#isHeld) return null;
    if (!isKept || this.#run.isDead) {
      this.#letGo();
      return null;
    }
    this.#isHeld = false;
    this.#kept = Promise.withResolvers();
    this.#run.outbox.push({ kind: "keep", call: this.callNumber });
    return this.#kept.promise;
  }

  #askForEnd(end: AttemptEnd, isUrgent = true): void {
    // Attempts whose capability calls come by a worker's pipe have negative numbers.
    const attempt = this.#attempt === null ? end.attempt : -this.#attempt;
    const held = this.caller.logging !== undefined && isUrgent ? ({ isHeld: true } as const) : {};
    const message = { kind: "end", call: this.callNumber, end: { ...end, attempt }, ...held } as const;
    // Nothing waits for the end of a call without capability calls.
    if (isUrgent) this.#run.outbox.push(message);
    else this.#run.outbox.pushLater(message);
  }

  receive(
    message: Extract<FromThread, { readonly kind: "response" | "planned" | "snapshot" | "ended" | "kept" | "spent" }>,
  ): void {
    switch (message.kind) {
      case "response": {
        const pending = this.#asks.get(message.ask);
        this.#asks.delete(message.ask);
        return pending?.respond(message.response);
      }
      case "planned":
        // The worker had reported the end to the broker, and was lost before it reported the end to the engine.
        this.#ended = null;
        this.#isRepeating = message.plan !== "";
        this.#hasAsked ||= this.#isRepeating;
        this.#plan?.resolve(message.plan);
        this.#plan = null;
        return;
      case "snapshot":
        this.#snapshot?.resolve(message.snapshot);
        this.#snapshot = null;
        return;
      case "kept":
        if (message.delta !== null) this.account.receive(message.delta);
        this.#host.forget(this);
        return this.#kept?.resolve(message.told);
      case "spent":
        this.#effects = message.effects;
        return this.account.receive(message.delta);
      case "ended": {
        const { end, delta } = message;
        if (delta !== null) this.account.receive(delta);
        // The broker closes.
        this.#loseAll();
        this.#ended = { ...end, effects: end.effects + this.#lostEnd().effects };
        if (this.#end !== null) this.#conclude(this.#end, this.#ended);
        return;
      }
    }
  }

  record(outcome: ToldOutcome): void {
    const { callId, parentId, tool, tenant, trace, onOutcome } = this.caller;
    const event = { ...outcome.record, callId, parentId, tool, tenant };
    const tell = (): void => {
      this.#host.onOutcome(event);
      onOutcome?.(event);
    };
    if (trace === null) tell();
    else trace.record(outcome, tell);
  }

  handle(method: HostMethod, respond: (end: EndedMethod) => void): void {
    const { trace } = this.caller;
    if (trace === null) this.#handlers.handle(method, respond);
    else trace.handle(method, () => this.#handlers.handle(method, respond));
  }

  /** Announces an effect of a call that is stored, and tells the broker whether it may happen. */
  async announce({ request, step, isRepeatable }: Extract<FromThread, { readonly kind: "announce" }>): Promise<void> {
    const { outbox } = this.#run;
    let failure: Failure | null = null;
    try {
      await this.caller.keep?.begin(step, isRepeatable);
    } catch (error) {
      const code = error instanceof CallFailure ? error.code : "store_failed";
      failure = { code, message: error instanceof CallFailure ? error.message : "the call cannot be kept" };
    }
    outbox.push({ kind: "announced", request, failure });
  }

  /** Called when the broker with the session has ended. */
  onDeath(): void {
    this.#isBroken = this.#hasAsked || this.#attempt !== null;
    this.account.release("journalBytes", this.account.journalBytes);
    this.account.release("inFlightBytes", this.account.inFlightBytes);
    this.#effects += this.#asks.size;
    this.#loseAll();
    this.#plan?.resolve(this.#isBroken ? null : "");
    this.#plan = null;
    this.#snapshot?.resolve(null);
    this.#snapshot = null;
    this.#kept?.resolve(null);
    this.#end?.resolve(this.#lostEnd());
    // Its progress is unknown here: capability calls that it has not repeated yet would be carried out once more.
    const isKept = this.caller.keep?.append !== undefined && this.#isBroken;
    if ((this.#isRepeating || isKept) && this.#end === null) this.caller.onLost?.();
  }

  #loseAll(): void {
    const pending = [...this.#asks.values()];
    this.#asks.clear();
    for (const each of pending) this.#lose(each);
  }

  #lose({ ask, respond, startMs }: PendingAsk): void {
    const label = `${ask.capability}.${ask.method}`.slice(0, LABEL_MAX);
    const message = `${label} failed: the broker ${this.#run.place} ended; call the tool again`;
    const nowMs = ask.nowMs + Math.round(performance.now() - startMs);
    respond({ kind: "failure", nowMs, failure: { code: "capability_failed", message } });
  }

  /** The effects of a broker that has ended are not all known. */
  #lostEnd(): SessionEnd {
    const effects = this.#isBroken ? Math.max(1, this.#effects) : 0;
    return { effects, lastRefusal: null, isBehind: false, journal: null };
  }
}
