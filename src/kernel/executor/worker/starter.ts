import { cpuMsOf, type RunMessage, type ToHost } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import { STARTS_MS } from "../../guest/host.ts";
import { failed, turnNumberOf, WorkerCall } from "./worker-call.ts";
import type { GuestRealm } from "./guest-realm.ts";
import type { Isolates } from "./isolates.ts";
import type { ToolIsolate } from "./tool-isolate.ts";
import { configRedactorOf } from "../../base/redaction/config-redactor.ts";
import { cleanOutcome, NOTHING_TOLD } from "./outcome.ts";
import type { TurnEnd, Turns } from "./turns.ts";

/** Maximum CPU time of short calls that start together, before they are tried one by one, in milliseconds. */
const TOGETHER_MS = 50;
/** Maximum time to create an isolate and compile a script in it, in milliseconds. */
const LOAD_MS = 5_000;
/** Maximum length of a message's outcomes, in characters: the remaining calls are left for the next message. */
const OUTCOMES_MAX = 4 * 1024 * 1024;
const STARTED: TurnEnd = { kind: "done", value: "" };
/** The outcome of a single call that has not ended. */
const GOES_ON = "\t";

/** A starter's view of its session. */
export interface StarterHost {
  readonly isolates: Isolates;
  readonly turns: Turns;
  /** Calls in flight by number: those that have emitted anything, and those still running. */
  readonly calls: Map<number, WorkerCall>;
  readonly post: (message: ToHost) => void;
  readonly afterTurn: (call: WorkerCall, end: TurnEnd) => void;
  readonly abandon: (isolate: ToolIsolate) => void;
  /** Leaves the child calls of an ended call to the host. */
  readonly leaveChildren: (call: WorkerCall) => void;
}

/** The calls of a message at their start. Most calls end in their first turn and leave nothing but their outcome. */
interface Start {
  readonly message: RunMessage;
  readonly runs: readonly number[];
  readonly isolate: ToolIsolate;
  readonly realm: GuestRealm;
  /** Calls that have emitted anything besides their outcome. */
  readonly calls: Map<number, WorkerCall>;
  /** Outcomes emitted with `EMIT_DONE` in the call's first turn. */
  readonly ended: Map<number, string>;
  /** CPU time of all turns, and of the last call that started in them, in milliseconds. */
  cpuMs: number;
  lastCpuMs: number;
  /** Outcomes returned by the guest so far. */
  outcomes: string;
  /** Unhandled rejections of a turn of several calls, by the numbers of all that started in it. Mostly none. */
  rejections: Map<number, TurnEnd> | null;
  /** Whether the check of the arguments refused them, for a call in a realm that its tool can change. */
  isRefused: boolean;
}

/**
 * Starts calls in their isolates: entering one costs more than a short call does, so calls that end at once share a
 * turn. A call that continues ends the turn, because its work after an `await` must be its own; the next call begins
 * another turn.
 */
export class Starter {
  readonly #host: StarterHost;
  #start: Start | null = null;
  /** Maps of the last start, and of the next one if they are still empty: they mostly are. */
  #calls = new Map<number, WorkerCall>();
  #ended = new Map<number, string>();

  constructor(host: StarterHost) {
    this.#host = host;
  }

  start(message: RunMessage, script: ToolScript): void {
    const runs = message.runs.split(",").map(Number);
    const entered = this.#admit(message, script, runs.length);
    if (entered === null) return;
    const { isolate, realm } = entered;
    if (this.#calls.size > 0) this.#calls = new Map();
    if (this.#ended.size > 0) this.#ended = new Map();
    const start: Start = {
      message,
      runs,
      isolate,
      realm,
      calls: this.#calls,
      ended: this.#ended,
      cpuMs: 0,
      lastCpuMs: 0,
      outcomes: "",
      rejections: null,
      isRefused: false,
    };
    this.#start = start;
    const end = isolate.isHardened ? this.#startAll(start) : this.#startOne(start);
    this.#start = null;
    const isCut = isEndOfIsolate(end);
    if (isCut && (runs.length > 1 || end.kind === "lost")) return this.#cut(start);
    if (!isCut) isolate.measure(start.cpuMs);
    if (isCut || start.outcomes === "") start.outcomes = GOES_ON;
    const isTrusted = isolate.isHardened && isolate.redactor === null;
    const isPlain = isQuiet(start, end) && isTrusted;
    if (isPlain && isFull(start.outcomes)) {
      isolate.leave(message.callNumber, realm);
      this.#post(start, start.outcomes);
    } else this.#sort(start, runs.length === 1 ? end : STARTED);
  }

  /** Starts a call in a realm that its tool can change: a refusal of its arguments is not read from the realm. */
  #startOne(start: Start): TurnEnd {
    const { checks } = this.#host.isolates;
    checks.takeRefusal();
    const end = this.#startAll(start);
    start.isRefused = end.kind === "done" && checks.takeRefusal();
    return end;
  }

  /** Runs turns until all calls have started or one turn is cut. */
  #startAll(start: Start): TurnEnd {
    const { message, runs, realm } = start;
    let end = this.#turn(start, (ms) => realm.start(message.calls, ms, message.hasLongIntegers));
    for (let beforeMs = 0; ;) {
      if (isEndOfIsolate(end)) {
        start.lastCpuMs = start.cpuMs - beforeMs;
        return end;
      }
      const text = end.kind === "done" ? end.value : this.#recover(start);
      // A single call's result is one outcome, even if the tool put a line feed into it.
      const isMore = runs.length > 1 && text.endsWith("\n");
      const before = start.outcomes;
      start.outcomes += isMore ? text.slice(0, -1) : text;
      if (end.kind === "uncaught" && runs.length > 1) this.#blame(start, before, end.message);
      if (isMore) this.#dropUnstarted(start);
      start.lastCpuMs = lastCpuMsOf(start.cpuMs - beforeMs, text);
      beforeMs = start.cpuMs;
      const isSlow = start.lastCpuMs > STARTS_MS || start.cpuMs > TOGETHER_MS;
      // The remaining calls return to the host, so that others get a turn.
      if (!isMore || start.outcomes.length > OUTCOMES_MAX || isSlow) return end;
      end = this.#turn(start, (ms) => realm.startNext(ms));
    }
  }

  #turn(start: Start, body: (timeoutMs: number) => string): TurnEnd {
    const { message, isolate, realm } = start;
    const budget = { cpuMs: 0, isolate, realm };
    const isSingle = start.runs.length === 1;
    realm.hearLines(message.terms.stream);
    // A negative number in the turn record means the call and those that share its turn, or are its child calls.
    const callNumber = turnNumberOf(isSingle ? message.callNumber : -message.callNumber, message);
    const cpuMs = isSingle ? message.terms.cpuMs : Math.min(TOGETHER_MS, message.terms.cpuMs);
    const end = this.#host.turns.enter(callNumber, budget, cpuMs, body);
    start.cpuMs += budget.cpuMs;
    return end;
  }

  /** One turn may start several calls, and a rejection does not name its call: no call may read another's message. */
  #blame(start: Start, before: string, rejection: string): void {
    const started = start.runs.slice(countOf(before), countOf(start.outcomes));
    const message = started.length > 1 ? "of this call, or of another one that ended in the same turn" : rejection;
    start.rejections ??= new Map();
    for (const callNumber of started) start.rejections.set(callNumber, { kind: "uncaught", message });
  }

  /** Drops the emitted data of unstarted calls, which will emit it again. */
  #dropUnstarted({ runs, calls, ended, outcomes }: Start): void {
    if (calls.size === 0 && ended.size === 0) return;
    for (const callNumber of runs.slice(countOf(outcomes))) {
      const call = calls.get(callNumber);
      if (call !== undefined) this.#drop(call);
      calls.delete(callNumber);
      ended.delete(callNumber);
    }
  }

  /** The call with that number, if it is starting now. */
  starting(callNumber: number): WorkerCall | undefined {
    const start = this.#start;
    return start?.runs.includes(callNumber) === true ? this.#open(start, callNumber) : undefined;
  }

  /** Records the outcome of a call that ends in its first turn; returns whether it does. */
  ends(callNumber: number, outcome: string): boolean {
    const start = this.#start;
    if (start?.runs.includes(callNumber) !== true || start.calls.has(callNumber)) return false;
    if (!start.ended.has(callNumber)) start.ended.set(callNumber, outcome);
    return true;
  }

  /** Separates calls that have ended from those that continue or have more to send. */
  #sort(start: Start, last: TurnEnd): void {
    const { message, runs, isolate, realm, calls, ended, rejections, isRefused } = start;
    const outcomes = runs.length === 1 ? [start.outcomes.slice(0, -1)] : start.outcomes.split("\t").slice(0, -1);
    const rest: WorkerCall[] = [];
    let text = "";
    for (const [index, outcome] of outcomes.entries()) {
      const callNumber = runs[index] ?? message.callNumber;
      const call = calls.get(callNumber);
      const end = rejections?.get(callNumber) ?? last;
      const said = outcome || (call?.outcome ?? ended.get(callNumber) ?? "");
      if (said !== "" && call !== undefined) this.#host.leaveChildren(call);
      if (said !== "" && end.kind === "done" && isolate.outputCheck === null && (call === undefined || call.isQuiet)) {
        const known = { isRefused, told: call?.told ?? NOTHING_TOLD };
        text += `${cleanOutcome(said, message.terms.outputBytes, isolate, known)}\t`;
        if (call !== undefined) this.#drop(call);
        continue;
      }
      text += "\t";
      const open = call ?? this.#open(start, callNumber);
      open.outcome ||= said;
      open.isRefused = isRefused;
      open.cpuMs = cpuMsOf(start, index, outcomes.length);
      open.noteTurn(this.#host.turns.startedMs, open.cpuMs);
      rest.push(open);
    }
    this.#post(start, text);
    // The first call's number held the isolate for all of them.
    if (!calls.has(message.callNumber)) isolate.leave(message.callNumber, realm);
    for (const call of rest) {
      // The check of an earlier call's output may have ended the isolate of all.
      if (this.#host.calls.get(call.callNumber) !== call) continue;
      this.#host.afterTurn(call, rejections?.get(call.callNumber) ?? last);
    }
  }

  #post({ message, isolate, cpuMs, lastCpuMs }: Start, outcomes: string): void {
    const { heapBytes } = isolate;
    this.#host.post({ kind: "ran", callNumber: message.callNumber, cpuMs, lastCpuMs, heapBytes, outcomes });
  }

  /** A turn that was cut or lost proves nothing against any of its calls: the host starts them again one by one. */
  #cut({ message, isolate, realm, calls, cpuMs }: Start): void {
    isolate.dispose();
    this.#host.isolates.checks.takePlace();
    for (const call of calls.values()) this.#drop(call);
    if (!calls.has(message.callNumber)) isolate.leave(message.callNumber, realm);
    this.#host.post({ kind: "cut", callNumber: message.callNumber, cpuMs });
    this.#host.abandon(isolate);
  }

  #open({ message, isolate, realm, calls }: Start, callNumber: number): WorkerCall {
    if (callNumber !== message.callNumber) isolate.enter(callNumber);
    const call = new WorkerCall(callNumber, message, isolate, realm);
    this.#host.calls.set(callNumber, call);
    calls.set(callNumber, call);
    return call;
  }

  #drop(call: WorkerCall): void {
    call.stopTimers();
    this.#host.calls.delete(call.callNumber);
    call.isolate.leave(call.callNumber, call.realm);
  }

  /** Admits calls to their isolate and its realm; `null` if they have already failed. */
  #admit(message: RunMessage, script: ToolScript, count: number) {
    if (!message.terms.ownIsolate && this.#host.isolates.isWarm(script, message.terms.tenant))
      return this.#enter(message, script, count);
    const turnNumber = turnNumberOf(message.callNumber, message);
    return this.#host.turns.around(turnNumber, LOAD_MS, () => this.#enter(message, script, count));
  }

  /** Finds or creates the isolate and the realm; an error here is the tool's, so the calls fail. */
  #enter({ callNumber, terms: { tenant, ownIsolate } }: RunMessage, script: ToolScript, count: number) {
    try {
      const isolate = this.#host.isolates.get(script, tenant, ownIsolate);
      return { isolate, realm: isolate.enter(callNumber, count) };
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      const text = configRedactorOf(script)?.text(problem) ?? problem;
      const code = text.includes("memory limit") ? "memory_limit" : "load_error";
      const outcome = failed({ code, message: `the tool's script cannot be loaded: ${text.slice(0, 1_000)}` });
      const outcomes = `${outcome}\t`.repeat(count);
      this.#host.post({ kind: "ran", callNumber, cpuMs: 0, lastCpuMs: 0, heapBytes: 0, outcomes });
      return null;
    }
  }

  /** The calls' outcomes, when a later exception replaced the turn's result. */
  #recover({ message, isolate, realm }: Start): string {
    const budget = { cpuMs: 0, isolate, realm };
    const turnNumber = turnNumberOf(message.callNumber, message);
    const end = this.#host.turns.enter(turnNumber, budget, message.terms.cpuMs, (ms) => realm.recover(ms));
    return end.kind === "done" ? end.value : "";
  }
}

/** Whether the turn's isolate ended with it. */
function isEndOfIsolate({ kind }: TurnEnd): boolean {
  return kind === "cpu" || kind === "memory" || kind === "shed" || kind === "lost";
}

/** CPU time of the last call of a turn. The others had `STARTS_MS` at most in total: no call starts after that. */
function lastCpuMsOf(cpuMs: number, outcomes: string): number {
  const count = countOf(outcomes);
  return cpuMs - (Math.min(cpuMs, STARTS_MS) * Math.max(0, count - 1)) / Math.max(1, count);
}

/** Number of calls in a turn's outcomes. */
function countOf(outcomes: string): number {
  let count = 0;
  for (let at = outcomes.indexOf("\t"); at >= 0; at = outcomes.indexOf("\t", at + 1)) count++;
  return count;
}

/** Whether no call has left anything but its outcome. */
function isQuiet({ calls, ended, rejections }: Start, { kind }: TurnEnd): boolean {
  return kind === "done" && calls.size === 0 && ended.size === 0 && rejections === null;
}

/** Whether every call has an outcome, and none contains a line feed, which would end the message. */
function isFull(outcomes: string): boolean {
  return !outcomes.startsWith("\t") && !outcomes.includes("\t\t") && !outcomes.includes("\n");
}
