import type { RunMessage, ToHost } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import { WorkerCall, failed } from "./worker-call.ts";
import type { GuestRealm } from "./guest-realm.ts";
import type { Isolates } from "./isolates.ts";
import type { ToolIsolate } from "./tool-isolate.ts";
import { cleanOutcome } from "./outcome.ts";
import type { TurnEnd, Turns } from "./turns.ts";

/** What short calls that start together may take before they are tried one by one, in milliseconds. */
const TOGETHER_MS = 50;
/** What making an isolate and compiling a script in it may take, in milliseconds. */
const LOAD_MS = 5_000;
/** Characters of outcomes in one message: calls that would follow are left to the next. */
const OUTCOMES_MAX = 4 * 1024 * 1024;
const STARTED: TurnEnd = { kind: "done", value: "" };
/** The outcome of a single call that goes on. */
const GOES_ON = "\t";

/** What a starter needs of its session. */
export interface StarterHost {
  readonly isolates: Isolates;
  readonly turns: Turns;
  /** The calls in flight, by run: those that have said something, and those that go on. */
  readonly calls: Map<number, WorkerCall>;
  readonly post: (message: ToHost) => void;
  readonly afterTurn: (call: WorkerCall, end: TurnEnd) => void;
  readonly abandon: (isolate: ToolIsolate) => void;
}

/** A message's calls as they start. Most calls end in their first turn and leave no trace but their outcome. */
interface Start {
  readonly message: RunMessage;
  readonly runs: readonly number[];
  readonly isolate: ToolIsolate;
  readonly realm: GuestRealm;
  /** The calls that have said something else than their outcome. */
  readonly calls: Map<number, WorkerCall>;
  /** Outcomes that came with an `EMIT_DONE` in the call's first turn. */
  readonly ended: Map<number, string>;
  /** Processor time of all turns. */
  cpuMs: number;
  /** What the guest has answered so far. */
  outcomes: string;
}

/**
 * Brings calls into their isolates: entering one costs more than a short call does, so calls that end at once share a
 * turn. One that goes on ends it, because what it does after an await must be its own; the next begins another.
 */
export class Starter {
  readonly #host: StarterHost;
  #start: Start | null = null;

  constructor(host: StarterHost) {
    this.#host = host;
  }

  start(message: RunMessage, script: ToolScript): void {
    const runs = message.runs.split(",").map(Number);
    const entered = this.#admit(message, script, runs.length);
    if (entered === null) return;
    const { isolate, realm } = entered;
    const start: Start = { message, runs, isolate, realm, calls: new Map(), ended: new Map(), cpuMs: 0, outcomes: "" };
    this.#start = start;
    const end = this.#startAll(start);
    this.#start = null;
    const isCut = end.kind === "cpu" || end.kind === "memory";
    if (isCut && runs.length > 1) return this.#cut(start);
    if (!isCut) isolate.measure(start.cpuMs);
    if (isCut || start.outcomes === "") start.outcomes = GOES_ON;
    const isPlain = end.kind === "done" && isolate.isHardened && start.calls.size === 0 && start.ended.size === 0;
    if (isPlain && isFull(start.outcomes)) {
      isolate.leave(message.run, realm);
      this.#post(start, start.outcomes);
    } else this.#sort(start, runs.length === 1 ? end : STARTED);
  }

  /** Turn after turn until all have started, or one is cut. */
  #startAll(start: Start): TurnEnd {
    const { message, runs, realm } = start;
    let end = this.#turn(start, (ms) => realm.start(message.calls, ms));
    for (;;) {
      if (end.kind === "cpu" || end.kind === "memory") return end;
      const text = end.kind === "done" ? end.value : this.#recover(start);
      // A single call's answer is one outcome, whatever a tool has made of it.
      const isMore = runs.length > 1 && text.endsWith("\n");
      start.outcomes += isMore ? text.slice(0, -1) : text;
      if (isMore) this.#dropUnstarted(start);
      // Those that are left go back to the host, and others have their turn.
      if (!isMore || start.outcomes.length > OUTCOMES_MAX || start.cpuMs > TOGETHER_MS) return end;
      end = this.#turn(start, (ms) => realm.startNext(ms));
    }
  }

  #turn(start: Start, body: (timeoutMs: number) => string): TurnEnd {
    const { message, isolate, realm } = start;
    const budget = { cpuMs: 0, isolate, realm };
    const isSingle = start.runs.length === 1;
    // A negative number in the turn record stands for the call and those that went with it.
    const run = isSingle ? message.run : -message.run;
    const cpuMs = isSingle ? message.cpuMs : Math.min(TOGETHER_MS, message.cpuMs);
    const end = this.#host.turns.enter(run, budget, cpuMs, body);
    start.cpuMs += budget.cpuMs;
    return end;
  }

  /** What a call said that is to start again is forgotten, as it will say it again. */
  #dropUnstarted({ runs, calls, ended, outcomes }: Start): void {
    if (calls.size === 0 && ended.size === 0) return;
    const started = outcomes.split("\t").length - 1;
    for (const run of runs.slice(started)) {
      const call = calls.get(run);
      if (call !== undefined) this.#drop(call);
      calls.delete(run);
      ended.delete(run);
    }
  }

  /** The call of that number, if it is one of those that start now. */
  starting(run: number): WorkerCall | undefined {
    const start = this.#start;
    return start?.runs.includes(run) === true ? this.#open(start, run) : undefined;
  }

  /** Takes the outcome of a call that ends in its first turn; says whether it is one. */
  ends(run: number, outcome: string): boolean {
    const start = this.#start;
    if (start?.runs.includes(run) !== true || start.calls.has(run)) return false;
    if (!start.ended.has(run)) start.ended.set(run, outcome);
    return true;
  }

  /** Tells those that have ended from those that go on or have more to tell. */
  #sort(start: Start, end: TurnEnd): void {
    const { message, runs, isolate, realm, calls, ended, cpuMs } = start;
    const outcomes = runs.length === 1 ? [start.outcomes.slice(0, -1)] : start.outcomes.split("\t").slice(0, -1);
    const rest: WorkerCall[] = [];
    let text = "";
    for (const [index, outcome] of outcomes.entries()) {
      const run = runs[index] ?? message.run;
      const call = calls.get(run);
      const said = outcome || (call?.outcome ?? ended.get(run) ?? "");
      if (said !== "" && end.kind === "done" && (call === undefined || call.isQuiet)) {
        text += `${cleanOutcome(said, message.outputBytes, !isolate.isHardened)}\t`;
        if (call !== undefined) this.#drop(call);
        continue;
      }
      text += "\t";
      const open = call ?? this.#open(start, run);
      open.outcome ||= said;
      open.cpuMs = cpuMs / outcomes.length;
      rest.push(open);
    }
    this.#post(start, text);
    // The first call's number held the isolate for all of them.
    if (!calls.has(message.run)) isolate.leave(message.run, realm);
    for (const call of rest) this.#host.afterTurn(call, end);
  }

  #post({ message, isolate, cpuMs }: Start, outcomes: string): void {
    this.#host.post({ kind: "ran", run: message.run, cpuMs, heapBytes: isolate.heapBytes, outcomes });
  }

  /** A turn that is cut proves nothing against any of its calls: the host starts them again one by one. */
  #cut({ message, isolate, realm, calls }: Start): void {
    isolate.dispose();
    for (const call of calls.values()) this.#drop(call);
    if (!calls.has(message.run)) isolate.leave(message.run, realm);
    this.#host.post({ kind: "cut", run: message.run });
    this.#host.abandon(isolate);
  }

  #open({ message, isolate, realm, calls }: Start, run: number): WorkerCall {
    if (run !== message.run) isolate.enter(run);
    const call = new WorkerCall(run, message, isolate, realm);
    this.#host.calls.set(run, call);
    calls.set(run, call);
    return call;
  }

  #drop(call: WorkerCall): void {
    call.stopTimers();
    this.#host.calls.delete(call.run);
    call.isolate.leave(call.run, call.realm);
  }

  /** Takes calls in, with their isolate and its realm; `null` where they have failed already. */
  #admit(message: RunMessage, script: ToolScript, count: number) {
    if (!message.ownIsolate && this.#host.isolates.isWarm(script, message.tenant))
      return this.#enter(message, script, count);
    return this.#host.turns.around(message.run, LOAD_MS, () => this.#enter(message, script, count));
  }

  /** Finds or makes the isolate and the realm; what fails here is the tool's script, so the calls fail. */
  #enter({ run, tenant, ownIsolate }: RunMessage, script: ToolScript, count: number) {
    try {
      const isolate = this.#host.isolates.get(script, tenant, ownIsolate);
      return { isolate, realm: isolate.enter(run, count) };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const code = text.includes("memory limit") ? "memory_limit" : "load_error";
      const outcome = failed({ code, message: `the tool's script cannot be loaded: ${text.slice(0, 1_000)}` });
      this.#host.post({ kind: "ran", run, cpuMs: 0, heapBytes: 0, outcomes: `${outcome}\t`.repeat(count) });
      return null;
    }
  }

  /** What the calls answered, where an exception that came after it took the answer away. */
  #recover({ message, isolate, realm }: Start): string {
    const budget = { cpuMs: 0, isolate, realm };
    const end = this.#host.turns.enter(message.run, budget, message.cpuMs, (ms) => realm.recover(ms));
    return end.kind === "done" ? end.value : "";
  }
}

/** Whether every call has its outcome in the answer, and nothing is in it that would end its message. */
function isFull(outcomes: string): boolean {
  return !outcomes.startsWith("\t") && !outcomes.includes("\t\t") && !outcomes.includes("\n");
}
