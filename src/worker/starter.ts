import type { RunMessage, ToHost } from "../protocol/messages.ts";
import type { ToolScript } from "../protocol/script.ts";
import { ActiveCall } from "./active-call.ts";
import { Batch, readOutcomes, ServiceTimes, writeBatch } from "./batch.ts";
import { isHardened, type Isolates, type ToolIsolate } from "./isolates.ts";
import type { TurnEnd, Turns } from "./turns.ts";

/** What a batch of short calls may take before they are tried one by one, in milliseconds. */
const BATCH_MS = 50;
const STARTED: TurnEnd = { kind: "done", value: "" };
/** What making an isolate and compiling a script in it may take, in milliseconds. */
const LOAD_MS = 5_000;

/** What a starter needs of its session. */
export interface StarterHost {
  readonly isolates: Isolates;
  readonly turns: Turns;
  /** The calls in flight, by run. */
  readonly calls: Map<number, ActiveCall>;
  readonly post: (message: ToHost) => void;
  readonly afterTurn: (call: ActiveCall, end: TurnEnd) => void;
  readonly abandon: (isolate: ToolIsolate) => void;
}

/**
 * Brings calls into their isolates. Entering one costs more than a short call does, so calls of one tool that are
 * known to be short, and that came together, enter together.
 */
export class Starter {
  readonly #host: StarterHost;
  readonly #times = new ServiceTimes();
  #batch: Batch | null = null;

  constructor(host: StarterHost) {
    this.#host = host;
  }

  /** Starts a call, or lets it wait for the others of its batch until `flush`. */
  start(message: RunMessage, script: ToolScript): void {
    if (message.alone || !isHardened(script) || !this.#times.isQuick(message.key)) {
      this.flush();
      return this.#runAlone(message, script);
    }
    if (this.#batch !== null && !this.#batch.takes(message)) this.flush();
    this.#batch ??= new Batch(script, message.tenant);
    this.#batch.add(message);
  }

  #runAlone(message: RunMessage, script: ToolScript): void {
    const call = this.#admit(message, script);
    if (call === null) return;
    const { run, callId, args, nowMs, outputBytes } = message;
    const end = this.#host.turns.enter(run, call, message.cpuMs, (timeoutMs) =>
      call.realm.start(run, callId, args, nowMs, outputBytes, timeoutMs),
    );
    if (end.kind === "done") call.outcome ||= end.value;
    if (end.kind === "uncaught") call.outcome ||= this.#recover(call);
    this.#times.note(script.key, call.cpuMs, call.outcome === "");
    this.#host.afterTurn(call, end);
  }

  /** Starts what waits. */
  flush(): void {
    const batch = this.#batch;
    if (batch === null) return;
    this.#batch = null;
    let waiting: readonly RunMessage[] = batch.messages;
    while (waiting.length > 1 && this.#times.isQuick(batch.script.key)) {
      waiting = this.#startTogether(batch.script, waiting);
    }
    for (const message of waiting) this.#runAlone(message, batch.script);
  }

  /**
   * Starts calls of one tool in a single turn, as many as end without awaiting, and answers those it did not start.
   * A turn that is cut short proves nothing against any of them: they start again one by one, each with its budget.
   */
  #startTogether(script: ToolScript, messages: readonly RunMessage[]): readonly RunMessage[] {
    const [head, ...others] = messages;
    const first = head === undefined ? null : this.#admit(head, script);
    if (first === null) return others;
    const calls = [first, ...others.map((message) => this.#join(message, first.isolate))];
    const budget = { cpuMs: 0, isolate: first.isolate, realm: first.realm };
    const text = writeBatch(calls.map(({ message }) => message));
    // A negative number in the turn record stands for the call and those that went with it.
    const end = this.#host.turns.enter(-first.message.run, budget, BATCH_MS, (timeoutMs) =>
      first.realm.startMany(text, timeoutMs),
    );
    // Whose rejection it was that nobody handled cannot be told here, and it must not show in another call's log.
    if (end.kind !== "done") this.#times.forget(script.key);
    const isCut = end.kind === "cpu" || end.kind === "memory";
    const outcomes = isCut ? [] : readOutcomes(end.kind === "done" ? end.value : this.#recover(first));
    const left = calls.slice(outcomes.length);
    for (const call of left) this.#withdraw(call);
    if (isCut) this.#host.abandon(first.isolate);
    for (const [index, outcome] of outcomes.entries()) {
      const call = calls[index];
      if (call === undefined) break;
      call.cpuMs = budget.cpuMs / outcomes.length;
      call.outcome ||= outcome;
      if (end.kind === "done") this.#times.note(script.key, call.cpuMs, call.outcome === "");
      this.#host.afterTurn(call, STARTED);
    }
    return left.map(({ message }) => message);
  }

  /** Takes a call in, with its isolate and its realm; `null` where it has failed already. */
  #admit(message: RunMessage, script: ToolScript): ActiveCall | null {
    if (this.#host.isolates.isWarm(script, message.tenant)) return this.#open(message, script);
    return this.#host.turns.around(message.run, LOAD_MS, () => this.#open(message, script));
  }

  /** Takes a call in whose isolate is known to be ready. */
  #join(message: RunMessage, isolate: ToolIsolate): ActiveCall {
    const call = new ActiveCall(message, isolate, isolate.enter(message.run));
    this.#host.calls.set(message.run, call);
    return call;
  }

  /** Takes a call back that has not been started, or is to be started again. */
  #withdraw(call: ActiveCall): void {
    call.stopTimer();
    this.#host.calls.delete(call.message.run);
    call.isolate.leave(call.message.run, call.realm);
  }

  /** Lets a tool's calls go alone until more is known of them. */
  distrust(key: string): void {
    this.#times.forget(key);
  }

  /** Finds or makes the isolate and the realm; what fails here is the tool's script, so the call fails. */
  #open(message: RunMessage, script: ToolScript): ActiveCall | null {
    try {
      return this.#join(message, this.#host.isolates.get(script, message.tenant));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const code = text.includes("memory limit") ? "memory_limit" : "load_error";
      const payload = JSON.stringify({ code, message: `the tool's script cannot be loaded: ${text.slice(0, 1_000)}` });
      const { run } = message;
      this.#host.post({ kind: "done", run, ok: false, cpuMs: 0, heapBytes: 0, dropped: 0, logs: "", payload });
      return null;
    }
  }

  /** What a start answered, where an exception that came after it took the answer away. */
  #recover(call: ActiveCall): string {
    const { run, cpuMs } = call.message;
    const end = this.#host.turns.enter(run, call, cpuMs, (timeoutMs) => call.realm.recover(timeoutMs));
    return end.kind === "done" ? end.value : "";
  }
}
