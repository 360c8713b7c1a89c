import { EMIT_ASK, EMIT_DONE, EMIT_LOG, EMIT_MEMORY, EMIT_PROGRESS, EMIT_TIMER, EMIT_WORN } from "../../guest/host.ts";
import type { RunMessage, RunTerms, ToHost } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import type { WorkerHoldings } from "../../base/protocol/holdings.ts";
import type { TurnSlot } from "../../base/protocol/turn-record.ts";
import { decodeToWorker } from "../../base/protocol/wire.ts";
import { turnNumberOf, WorkerCall } from "./worker-call.ts";
import { BrokerOutbox } from "./broker-outbox.ts";
import { ChildCalls } from "./child-calls.ts";
import { Deliveries } from "./deliveries.ts";
import { GarbageCollector, Preparation } from "./idle-work.ts";
import { inspectScript } from "./inspect.ts";
import type { Isolation, OpenIsolation, WorkerSettings } from "./isolation.ts";
import type { Isolates } from "./isolates.ts";
import type { ToolIsolate } from "./tool-isolate.ts";
import { type LinkListener, WorkerOutbox } from "./link.ts";
import { LogLines } from "./log-lines.ts";
import { readOutcome } from "./outcome.ts";
import { Starter } from "./starter.ts";
import { type TurnEnd, Turns } from "./turns.ts";

/** The links of a worker's messages: `toBroker` is `null` without a pipe to the broker. */
export interface WorkerLinks {
  readonly toHost: (text: string) => void;
  readonly toBroker: ((text: string) => void) | null;
}

/** CPU time for a cancelled call's listeners, in milliseconds. */
const CANCEL_CPU_MS = 50;
const STATS_EVERY_MS = 500;
/** Largest difference between the readings of a thread's processor time by itself and by the watch, in milliseconds. */
const CLOCKS_APART_MS = 50;
const OVER = "the call needed more memory than its isolate may have (limits.memoryMb)";
const overCpu = ({ cpuMs }: RunTerms): string => `the call used more than ${cpuMs} ms of processor time (limits.cpuMs)`;
const SHED =
  "the executor had too little memory, and the isolates of the call's tenant held most of it; keep less between awaits, or raise executor.rssMb";

/** A worker thread's work: it receives the host's messages, runs turns, and sends the results. */
export class WorkerSession implements LinkListener {
  readonly #outbox: WorkerOutbox;
  readonly #broker: BrokerOutbox;
  readonly #lines: LogLines;
  readonly #slot: TurnSlot;
  readonly #turns: Turns;
  readonly #terminator: Isolation["terminator"];
  readonly #isolates: Isolates;
  readonly #starter: Starter;
  readonly #deliveries: Deliveries;
  readonly #children: ChildCalls;
  readonly #preparation: Preparation;
  readonly #scripts = new Map<string, ToolScript>();
  readonly #calls = new Map<number, WorkerCall>();
  readonly #statsTimer: NodeJS.Timeout;
  /** Calls that ended in the current turn, also of other calls: at the `shared` level they wait for each other. */
  #ended: WorkerCall[] = [];
  #hasInspected = false;
  #lastStats = "";
  readonly #garbage = new GarbageCollector();

  constructor(
    settings: WorkerSettings,
    slot: TurnSlot,
    holdings: WorkerHoldings,
    { toHost, toBroker }: WorkerLinks,
    open: OpenIsolation,
  ) {
    this.#slot = slot;
    const { isolates, terminator } = open({
      settings,
      slot,
      holdings,
      emit: (kind, callNumber, a, b, c, nowMs) => this.#onEmit(kind, callNumber, a, b, c, nowMs),
      drawing: (run) => this.#turns.drawing(run),
    });
    this.#isolates = isolates;
    this.#terminator = terminator;
    const atRest = (send: (text: string) => void) => (text: string) => {
      // Clears the turn in the record before the host receives its result.
      if (this.#turns.realm === null) slot.rest();
      send(text);
    };
    this.#turns = new Turns(slot, terminator, ({ lines }) => this.#lines.take(lines));
    // Messages for the broker go before all messages that a caller may see: a further attempt repeats from them.
    const lastToHost = (text: string): void => {
      this.#broker.flushPipe();
      toHost(text);
    };
    this.#outbox = new WorkerOutbox(atRest(lastToHost), this.#turns);
    const pipe = toBroker === null ? null : new WorkerOutbox(atRest(toBroker), this.#turns);
    this.#broker = new BrokerOutbox(this.#outbox, pipe);
    this.#lines = new LogLines(this.#outbox, (callNumber) => this.#speaking(callNumber));
    this.#preparation = new Preparation(this.#isolates, () => this.#turns.skipTime());
    this.#starter = new Starter({
      isolates: this.#isolates,
      turns: this.#turns,
      calls: this.#calls,
      post: this.#tell,
      afterTurn: (call, end) => this.#afterTurn(call, end),
      abandon: (isolate) => this.#abandon(isolate),
      leaveChildren: (call) => this.#children.leave(call),
    });
    this.#deliveries = new Deliveries({
      calls: this.#calls,
      post: (call, message) => this.#broker.add(call, message),
      turn: (call, body) => {
        this.#afterTurn(call, this.#enter(call, body));
        this.#completeEnded();
      },
    });
    this.#children = new ChildCalls({
      calls: this.#calls,
      scripts: this.#scripts,
      start: (message) => this.#start(message),
      end: (callNumber) => this.#cancel(callNumber),
      broker: this.#broker,
      deliveries: this.#deliveries,
      later: () => void setImmediate(() => this.onPause()),
    });
    this.#statsTimer = setInterval(() => this.#sendStats(), STATS_EVERY_MS).unref();
    // The first message shows the host that the worker runs.
    this.#sendStats();
  }

  onLine(line: string): void {
    const message = decodeToWorker(line);
    if (message.kind === "settle") return this.#deliveries.take(message);
    // Earlier messages of the host take effect before this one.
    this.#deliveries.flush();
    switch (message.kind) {
      case "run":
        return this.#start(message);
      case "cancel":
        return this.#cancel(message.callNumber);
      case "watch":
        return this.#watch(message.callNumber);
      case "load":
        this.#scripts.set(message.script.key, message.script);
        return;
      case "unload":
        this.#scripts.delete(message.key);
        return this.#isolates.forget(message.key);
      case "inspect": {
        this.#hasInspected = true;
        const inspection = inspectScript(message, this.#isolates, this.#turns);
        return this.#outbox.post({
          kind: "inspected",
          callNumber: message.callNumber,
          payload: JSON.stringify(inspection),
        });
      }
    }
  }

  /** Whether no call runs and nothing is being prepared. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && !this.#preparation.isPending;
  }

  /** Delivers the responses read last, and sends the batched messages; then an idle worker prepares for later calls. */
  onPause(): void {
    this.#deliveries.flush();
    this.#children.run();
    this.#broker.flush();
    this.#slot.rest();
    this.#preparation.begin(this.#hasInspected);
    this.#hasInspected = false;
  }

  /** Called when the broker has ended: waiting capability calls fail, and later ones go by the host. */
  onBrokerLost(): void {
    for (const response of this.#broker.lose(this.#calls.values())) this.#deliveries.take(response);
    this.onPause();
  }

  async close(): Promise<void> {
    clearInterval(this.#statsTimer);
    this.#preparation.stop();
    for (const call of this.#calls.values()) call.stopTimers();
    this.#calls.clear();
    this.#isolates.dispose();
    await this.#terminator[Symbol.asyncDispose]();
  }

  #start(message: RunMessage): void {
    const script = this.#scripts.get(message.terms.key);
    if (script === undefined) this.#lose(message.callNumber, "the worker does not know the tool");
    else this.#starter.start(message, script);
    this.#completeEnded();
  }

  /** Sends a message to the host, if it is about a call that the host knows. */
  readonly #tell = (message: ToHost): void => {
    if (!this.#children.hears(message)) this.#outbox.post(message);
  };

  #cancel(callNumber: number): void {
    const call = this.#calls.get(callNumber);
    if (call === undefined) return;
    const budget = { cpuMs: 0, isolate: call.isolate, realm: call.realm };
    const end = this.#turns.enter(turnNumberOf(callNumber, call.message), budget, CANCEL_CPU_MS, (timeoutMs) =>
      call.realm.cancel(callNumber, Date.now(), timeoutMs),
    );
    call.cpuMs += budget.cpuMs;
    call.fail({ code: "cancelled", message: "the call was cancelled" });
    // The host tells the broker of all calls that it cancels at once, so that none gets room that another gives up.
    call.hasSent = false;
    this.#afterTurn(call, end);
    this.#completeEnded();
  }

  #watch(callNumber: number): void {
    const call = this.#calls.get(callNumber);
    if (call === undefined) return;
    call.isWatched = true;
    this.#tellIdle(call);
  }

  #tellIdle(call: WorkerCall): void {
    const idle = call.idle();
    if (idle !== null) this.#outbox.post({ kind: "idle", ...idle });
  }

  #enter(call: WorkerCall, body: (timeoutMs: number) => string | void): TurnEnd {
    call.realm.hearLines(call.terms.stream);
    return this.#turns.enter(call.callNumber, call, call.terms.cpuMs, body);
  }

  #afterTurn(call: WorkerCall, end: TurnEnd): void {
    switch (end.kind) {
      case "done":
        if (call.isolate.weigh() && call.outcome === "") return this.#condemn(call, "memory_limit", OVER);
        break;
      case "uncaught":
        this.#lines.add(call, "warn", `unhandled rejection: ${end.message}`);
        break;
      case "cpu":
        // The watch and this thread do not read its clock at the same moment. A call that was cut long before its limit
        // is one whose result was not needed.
        if (call.terms.cpuMs - call.cpuMs <= CLOCKS_APART_MS) call.cpuMs = Math.max(call.cpuMs, call.terms.cpuMs);
        return this.#condemn(call, "cpu_limit", overCpu(call.terms));
      case "memory":
        if (call.isolate.isCrowded && !call.terms.ownIsolate) return this.#abandon(call.isolate, call);
        return this.#condemn(call, "memory_limit", OVER);
      case "shed":
        return this.#condemn(call, "memory_limit", SHED);
      case "lost":
        return this.#abandon(call.isolate);
    }
    if (call.outcome !== "") this.#complete(call);
    else if (call.isWatched) this.#tellIdle(call);
  }

  /** Ends a call at a limit, and its isolate with it. */
  #condemn(call: WorkerCall, code: "cpu_limit" | "memory_limit", message: string): void {
    const { isolate } = call;
    call.fail({ code, message: message + this.#isolates.checks.takePlace() });
    isolate.dispose();
    this.#complete(call);
    this.#abandon(isolate);
  }

  /** Abandons an isolate after a cut turn: its leftovers would run in the turns of other calls. */
  #abandon(isolate: ToolIsolate, charged: WorkerCall | null = null): void {
    isolate.dispose();
    for (const callNumber of isolate.runs) {
      const cpuMs = callNumber === charged?.callNumber ? charged.cpuMs : 0;
      this.#lose(callNumber, "another call ended the isolate", cpuMs);
    }
  }

  /** Abandons an isolate with a failed interpreter: after this turn its calls move to others. */
  #giveUp(isolate: ToolIsolate): void {
    isolate.retired = true;
    setImmediate(() => {
      this.#abandon(isolate);
      this.onPause();
    });
  }

  #lose(callNumber: number, reason: string, cpuMs = 0): void {
    const call = this.#calls.get(callNumber);
    call?.stopTimers();
    call?.isolate.leave(callNumber, call.realm);
    this.#calls.delete(callNumber);
    this.#tell({ kind: "lost", callNumber, cpuMs, payload: JSON.stringify(reason) });
  }

  #completeEnded(): void {
    if (this.#ended.length === 0) return;
    const ended = this.#ended;
    this.#ended = [];
    for (const call of ended) if (this.#calls.get(call.callNumber) === call) this.#complete(call);
  }

  /** Ends a call. If its realm could be changed by the tool, the output is checked in another one first. */
  #complete(call: WorkerCall): void {
    const { outcome, isolate, callNumber } = call;
    const { outputCheck } = isolate;
    if (outputCheck === null || !outcome.startsWith("+") || call.isTooLong || call.isCommand) return this.#post(call);
    const budget = { cpuMs: call.cpuMs, isolate, realm: outputCheck };
    const end = this.#turns.enter(callNumber, budget, call.terms.cpuMs, (ms) =>
      outputCheck.check(outcome.slice(1), ms),
    );
    call.cpuMs = budget.cpuMs;
    if (end.kind === "done" && end.value.startsWith("~")) this.#lines.add(call, "warn", end.value.slice(1));
    else if (end.kind === "done" && end.value !== "")
      call.outcome = end.value.startsWith("+") ? end.value : `-${end.value}`;
    if (end.kind === "uncaught") call.fail({ code: "invalid_output", message: "the output cannot be checked" });
    // The turn's end is not the call's if it cut the check.
    if (end.kind === "done" || end.kind === "uncaught") this.#post(call);
    else this.#afterTurn(call, end);
  }

  #post(call: WorkerCall): void {
    const { isolate, message, callNumber } = call;
    const { ok, payload } = readOutcome(call.outcome, message.terms.outputBytes, isolate, call);
    this.#children.leave(call);
    this.#calls.delete(callNumber);
    this.#postProgress(call);
    call.stopTimers();
    isolate.measure(call.cpuMs);
    isolate.leave(callNumber, call.realm);
    const { cpuMs, dropped, deliveredCount } = call;
    const used = { cpuMs, heapBytes: isolate.heapBytes, dropped, deliveredCount, asked: this.#broker.end(call) };
    this.#tell({ kind: "done", callNumber, ok, ...used, turns: call.turnsText(), logs: call.logsJson(), payload });
  }

  /**
   * Handles what a guest emits during its turn: numbers and strings, possibly in the wrong places. Nothing may be
   * thrown into the isolate, and nothing long may be kept.
   */
  #onEmit(kind: number, callNumber: number, a: string | number, b: string, c: string, nowMs: number): number {
    // The lines before this message: the host gets all in the tool's order.
    this.#lines.take(this.#turns.realm?.lines);
    if (kind === EMIT_DONE && !this.#calls.has(callNumber) && this.#starter.ends(callNumber, String(a))) return 0;
    const call = this.#speaking(callNumber);
    if (call === undefined) return 0;
    switch (kind) {
      case EMIT_DONE:
        call.outcome = String(a);
        this.#ended.push(call);
        return 0;
      case EMIT_LOG:
        this.#lines.add(call, String(a), String(b));
        return 0;
      case EMIT_PROGRESS:
        if (!call.terms.stream) return 0;
        call.report(Number(a), String(b), String(c), () => {
          this.#postProgress(call);
          // The current turn may take long.
          this.#broker.flush();
        });
        return 1;
      case EMIT_MEMORY:
        call.isolate.grow(Number(a));
        if (b !== "") this.#giveUp(call.isolate);
        return 0;
      case EMIT_WORN:
        call.isolate.retired = true;
        return 0;
      case EMIT_TIMER:
        call.readClock(Number(nowMs), this.#turns.startedMs);
        call.startTimer(Number(a), Number(a) - Number(nowMs), () => {
          this.#deliveries.fire(call);
          this.onPause();
        });
        return 0;
      case EMIT_ASK:
        return this.#children.ask(call, { capability: String(a), method: String(b), args: String(c) }, nowMs);
      default:
        return 0;
    }
  }

  /** The call with that number, if the current turn's realm may speak for it. */
  #speaking(callNumber: number): WorkerCall | undefined {
    const call = this.#calls.get(callNumber) ?? this.#starter.starting(callNumber);
    // A tool with access to its own call object may have forged another call's number.
    return call?.outcome === "" && call.realm === this.#turns.realm ? call : undefined;
  }

  #postProgress(call: WorkerCall): void {
    const payload = call.progress.take();
    if (payload !== null) this.#outbox.post({ kind: "progress", callNumber: call.callNumber, payload });
  }

  #sendStats(): void {
    this.#isolates.dropStale();
    this.#garbage.collect(!this.isIdle || this.#preparation.expectsCall);
    // Some preparations wait until the worker has been idle for a while.
    if (this.isIdle) this.#preparation.begin(false);
    const payload = JSON.stringify(this.#isolates.stats());
    if (payload === this.#lastStats) return;
    this.#lastStats = payload;
    this.#outbox.post({ kind: "stats", payload });
    this.onPause();
  }
}
