import type { Failure } from "../../base/errors.ts";
import { HostWorkQueue } from "../../base/host-work-queue.ts";
import type { CapabilityCall, Respond } from "../../base/protocol/capability-call.ts";
import type { ToBroker } from "../../base/protocol/messages.ts";
import { CallFailure, type Capability, LoginRequired } from "../capabilities/capability.ts";
import type { OpenedModule } from "../capabilities/module-capability.ts";
import { Broker } from "../broker.ts";
import type { BrokeredCall, CallKeep } from "../brokered-call.ts";
import type { AttemptEnd, RunProgress, SessionEnd } from "../call-session.ts";
import type { CapabilityDetails, CapabilityEvent } from "../capability-event.ts";
import type { Grants } from "../grants.ts";
import type { EndedMethod } from "../method-call.ts";
import type { EnginePort } from "./engine-port.ts";
import { hostCapability, type HostCapabilityShape, type HostMethod } from "./host-capability.ts";
import type { AnswerEnd, FromThread, Keeps, SessionStart, ToldTool, ToThread } from "./messages.ts";
import { Outbox } from "./outbox.ts";
import { PipeServer } from "./pipe-server.ts";
import { ServedCall } from "./served-call.ts";
import { ThreadTime } from "./thread-time.ts";
import type { PipeListener, WorkerPipe } from "./worker-pipe.ts";

/** Time between two messages about a tenant's backlog, and about the usage of running calls, in milliseconds. */
const BACKLOG_EVERY_MS = 250;
const SPENT_EVERY_MS = 250;

/** Parts of the thread. */
export interface ThreadParts {
  readonly capabilities: readonly Capability[];
  /** Capabilities of the embedder's thread. */
  readonly host: readonly HostCapabilityShape[];
  /** Capabilities of packages, by name. */
  readonly modules: ReadonlyMap<string, OpenedModule>;
}

/** The broker thread's side: sessions of calls, and the capabilities, fair by tenant in measured time. */
export class ThreadServer implements PipeListener {
  readonly #broker: Broker;
  readonly #time = new ThreadTime();
  readonly #policies = new Map<number, Grants>();
  readonly #tools = new Map<number, ToldTool>();
  readonly #calls = new Map<number, ServedCall>();
  /** Calls with changes that have not been reported to the embedder's thread. */
  readonly #untold = new Set<ServedCall>();
  readonly #lookups = new Map<number, (addresses: readonly string[] | null) => void>();
  readonly #questions = new Map<number, (end: AnswerEnd) => void>();
  readonly #handled = new Map<number, (end: EndedMethod) => void>();
  readonly #announced = new Map<number, (failure: Failure | null) => void>();
  readonly #pipes = new Map<number, WorkerPipe>();
  readonly #pipeServer: PipeServer;
  readonly #outbox: Outbox<FromThread>;
  readonly #port: EnginePort;
  readonly #modules: ThreadParts["modules"];
  #ended: { readonly call: ServedCall; readonly end: SessionEnd }[] = [];
  #spentTimer: NodeJS.Timeout | null = null;
  /** Tenants whose requests wait. */
  readonly #waiting = new Set<string>();
  #backlogTimer: NodeJS.Timeout | null = null;
  #lastRequest = 0;

  constructor(port: EnginePort, createParts: (server: ThreadServer) => ThreadParts, pipes = new PipeServer()) {
    this.#port = port;
    this.#pipeServer = pipes;
    pipes.serve(this);
    this.#outbox = new Outbox((messages) => port.post(messages));
    const { capabilities, host, modules } = createParts(this);
    this.#modules = modules;
    const brought = [...modules.values()].map(({ capability }) => capability);
    this.#broker = new Broker({
      capabilities: [...capabilities, ...brought, ...host.map((shape) => hostCapability(shape, this.#carryOut))],
      onOutcome: (event, caller, details) => this.#onOutcome(event, caller, details),
      work: new HostWorkQueue({
        onThrottled: (throttling) => this.#outbox.push({ kind: "throttled", throttling }),
      }),
    });
  }

  /** Number of calls with a session. */
  get openCalls(): number {
    return this.#calls.size;
  }

  receive(messages: readonly ToThread[]): void {
    for (const message of messages) this.#receive(message);
  }

  tell(message: FromThread): void {
    this.#outbox.push(message);
  }

  onOpen(pipe: WorkerPipe): void {
    this.#pipes.set(pipe.number, pipe);
  }

  onClose({ number }: WorkerPipe): void {
    this.#pipes.delete(number);
  }

  onBroken({ number }: WorkerPipe, error: Error): void {
    this.#outbox.push({ kind: "broken", pipe: number, reason: error.message });
  }

  /** Only the engine's thread decides which call runs on which worker: a worker cannot act for other calls. */
  onMessage(pipe: WorkerPipe, message: ToBroker): void {
    const { callNumber, attempt } = message;
    const call = this.#calls.get(callNumber);
    if (call?.isAt(pipe.number, attempt) === true) this.#serve(pipe, call, message);
    else if (call?.isPast(pipe.number, attempt) !== true && pipe.wait(message))
      this.#outbox.push({ kind: "who", call: callNumber, pipe: pipe.number, attempt });
  }

  #serve(pipe: WorkerPipe, call: ServedCall, message: ToBroker): void {
    // Negative: attempts whose capability calls come by the engine's thread have numbers of their own.
    const attempt = -message.attempt;
    switch (message.kind) {
      case "ask": {
        const { callNumber } = message;
        return this.#ask(call, { ...message, attempt }, (response) => {
          if (this.#calls.get(callNumber) !== call || !call.isAt(pipe.number, message.attempt)) return;
          if (response.kind !== "diverged") return pipe.settle(message, response);
          const at = { call: callNumber, pipe: pipe.number, attempt: message.attempt };
          this.#outbox.push({ kind: "diverged", ...at, message: response.message });
        });
      }
      case "end":
        return this.#end(call, { attempt, deliveredCount: message.deliveredCount });
      default:
        return call.note(message);
    }
  }

  /** Asks the embedder for the addresses of a host name. */
  lookup(hostname: string): Promise<readonly string[]> {
    const lookup = ++this.#lastRequest;
    this.#outbox.push({ kind: "lookup", lookup, hostname });
    return new Promise((resolve, reject) => {
      this.#lookups.set(lookup, (addresses) => {
        if (addresses === null) reject(new Error("the name could not be resolved"));
        else resolve(addresses);
      });
    });
  }

  /** Asks the engine's side of a package's capability. */
  ask(capability: string, question: unknown, signal: AbortSignal): Promise<string> {
    const request = ++this.#lastRequest;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const onAbort = (): void => {
      this.#questions.delete(request);
      this.#outbox.push({ kind: "unask", request });
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#questions.set(request, (end) => {
      signal.removeEventListener("abort", onAbort);
      if (end.kind === "answer") resolve(end.text);
      else reject(end.needsLogin ? new LoginRequired(end.message) : new Error(end.message));
    });
    this.#outbox.push({ kind: "question", request, capability, question });
    return promise;
  }

  /** Has the embedder's thread carry out a method. Its time there is not charged to this thread. */
  readonly #carryOut = (method: HostMethod): Promise<EndedMethod> => {
    const request = ++this.#lastRequest;
    const call = this.#calls.get(method.call);
    if (call !== undefined) this.#time.end(call);
    this.#outbox.push({ kind: "handle", request, ...method });
    return new Promise((resolve) => {
      this.#handled.set(request, (end) => {
        if (call !== undefined) this.#time.begin(call);
        resolve(end);
      });
    });
  };

  #receive(message: ToThread): void {
    switch (message.kind) {
      case "policy":
        return void this.#policies.set(message.number, this.#broker.grantsOf(message.policy));
      case "tool":
        return void this.#tools.set(message.number, message.tool);
      case "forget":
        return void (message.what === "policy" ? this.#policies : this.#tools).delete(message.number);
      case "start":
        return this.#start(message);
      case "ask": {
        const { call, ask } = message;
        const served = this.#calls.get(call);
        const key = `${ask.attempt} ${ask.step}`;
        if (served === undefined) return;
        return this.#ask(served, ask, (response) => this.#outbox.push({ kind: "response", call, ask: key, response }));
      }
      case "begin":
        return this.#begin(message.call, message.pipe, message.attempt);
      case "gone":
        return this.#calls.get(message.call)?.isAt(message.pipe, message.attempt) === true
          ? undefined
          : this.#pipes.get(message.pipe)?.refuse(message.call, message.attempt);
      case "pipe": {
        const { pipe, end } = message;
        return typeof end === "string" ? this.#pipeServer.expect(end, pipe) : this.#pipeServer.adopt(end, pipe);
      }
      case "note":
        return this.#calls.get(message.note.callNumber)?.note(message.note);
      case "plan":
        return this.#plan(message.call);
      case "snapshot":
        return this.#snapshot(message.call, message.progress);
      case "goOn":
        return this.#calls.get(message.call)?.goOn();
      case "end":
        return this.#forget(message.call, message.end, message.isHeld);
      case "keep":
        return this.#keep(message.call);
      case "handled": {
        this.#handled.get(message.request)?.(message.end);
        this.#handled.delete(message.request);
        return;
      }
      case "announced": {
        this.#announced.get(message.request)?.(message.failure);
        this.#announced.delete(message.request);
        return;
      }
      case "resolved": {
        this.#lookups.get(message.lookup)?.(message.addresses);
        this.#lookups.delete(message.lookup);
        return;
      }
      case "state":
        return this.#modules.get(message.capability)?.use?.(message.state);
      case "answered": {
        this.#questions.get(message.request)?.(message.end);
        this.#questions.delete(message.request);
        return;
      }
      case "close":
        return void this.#close();
    }
  }

  #start(start: SessionStart): void {
    const [tool, grants] = [this.#tools.get(start.tool), this.#policies.get(start.policy)];
    if (tool === undefined || grants === undefined) throw new TypeError("a call of an unknown tool or policy");
    const keepOf = (call: number, keeps: Keeps): CallKeep => this.#keepOf(call, keeps);
    const thread = { broker: this.#broker, time: this.#time, carryOut: this.#carryOut, keepOf };
    this.#calls.set(start.call, new ServedCall(start, tool, grants, thread));
  }

  /** The engine's thread has the store. */
  #keepOf(call: number, keeps: Keeps): CallKeep {
    return {
      ...(keeps === "journal" && { append: (part) => this.#outbox.push({ kind: "append", call, part }) }),
      begin: (step, isRepeatable) => {
        const request = ++this.#lastRequest;
        this.#outbox.push({ kind: "announce", request, call, step, isRepeatable });
        return new Promise((resolve, reject) => {
          this.#announced.set(request, (failure) => {
            if (failure === null) resolve();
            else reject(new CallFailure(failure.code, failure.message));
          });
        });
      },
    };
  }

  #begin(number: number, pipeNumber: number, attempt: number): void {
    const call = this.#calls.get(number);
    const pipe = this.#pipes.get(pipeNumber);
    call?.begin(pipeNumber, attempt);
    if (call === undefined || pipe === undefined) return;
    pipe.admit(call.capabilityBytes);
    for (const message of pipe.take(number, attempt)) this.onMessage(pipe, message);
  }

  /** Answers in the next turn of the event loop: by then, all messages of the last attempt have been read. */
  #plan(call: number): void {
    const answer = (): void => this.#outbox.push({ kind: "planned", call, plan: this.#calls.get(call)?.plan() ?? "" });
    setImmediate(() => setImmediate(answer));
  }

  /** Answers as `#plan` does: notes of the run may be on their way. */
  #snapshot(call: number, progress: RunProgress): void {
    const answer = (): void =>
      this.#outbox.push({ kind: "snapshot", call, snapshot: this.#calls.get(call)?.snapshot(progress) ?? null });
    setImmediate(() => setImmediate(answer));
  }

  #ask(call: ServedCall, ask: CapabilityCall, respond: Respond): void {
    call.invoke(ask, respond);
    if (this.#broker.work.backlogMs(call.tenant) > 0) this.#watchBacklog(call.tenant);
    this.#untold.add(call);
    this.#spentTimer ??= setTimeout(() => this.#tellSpent(), SPENT_EVERY_MS);
  }

  /** Ends a call at the report of its worker. Its journal is kept until the engine knows of the end, too. */
  #end(call: ServedCall, attempt: AttemptEnd): void {
    if (this.#ended.length === 0) setImmediate(() => this.#tellEnded());
    this.#ended.push({ call, end: call.end(attempt) });
    this.#untold.delete(call);
  }

  /** Sends the totals of calls that ended in one turn of the event loop: the thread's clock is read once for all. */
  #tellEnded(): void {
    const ended = this.#ended;
    this.#ended = [];
    this.#time.shareOut();
    for (const { call, end } of ended) {
      this.#time.forget(call);
      this.#outbox.push({ kind: "ended", call: call.number, end, delta: call.takeDelta() });
    }
    this.#outbox.flush();
  }

  /** Hands over its part of an ended call's record. The memory is moved, not copied. */
  #keep(number: number): void {
    const call = this.#calls.get(number);
    this.#calls.delete(number);
    const told = call?.tell() ?? null;
    this.#time.shareOut();
    if (call !== undefined) this.#time.forget(call);
    const kept: FromThread = { kind: "kept", call: number, told, delta: call?.takeDelta() ?? null };
    this.#port.post([kept], told === null ? [] : [told.buffer]);
  }

  #forget(number: number, attempt: AttemptEnd, isHeld = false): void {
    const call = this.#calls.get(number);
    if (call === undefined) return;
    // A plan that was requested before may be made after this.
    call.close();
    if (!isHeld) this.#calls.delete(number);
    if (!call.isEnded) this.#end(call, attempt);
  }

  #onOutcome(event: CapabilityEvent, caller: BrokeredCall, { code, isContinuation }: CapabilityDetails): void {
    const { capability, method, step, outcome, rules, argsLength, answerLength, durationMs } = event;
    const { callNumber = 0, isHeard, callId, parentId, tool, tenant } = caller;
    const argsHash = isHeard === true ? event.argsHash : "";
    const record = { capability, method, step, outcome, rules, argsLength, answerLength, durationMs, argsHash };
    // The embedder's thread knows the calls that run.
    const of = this.#calls.get(callNumber)?.isEnded === false ? null : { callId, parentId, tool, tenant };
    const atMs = performance.timeOrigin + performance.now();
    const told = { call: callNumber, of, record, isContinuation: isContinuation === true, code: code ?? null, atMs };
    this.#outbox.pushLater({ kind: "outcome", ...told });
  }

  /** Reports the usage of running calls. */
  #tellSpent(): void {
    this.#spentTimer = null;
    this.#time.shareOut();
    for (const call of this.#untold) {
      const delta = call.takeDelta();
      if (delta === null) this.#untold.delete(call);
      else this.#outbox.push({ kind: "spent", call: call.number, effects: call.effects, delta });
    }
    if (this.#untold.size > 0) this.#spentTimer = setTimeout(() => this.#tellSpent(), SPENT_EVERY_MS);
  }

  #watchBacklog(tenant: string): void {
    this.#waiting.add(tenant);
    this.#backlogTimer ??= setTimeout(() => this.#tellBacklogs(), BACKLOG_EVERY_MS);
  }

  #tellBacklogs(): void {
    this.#backlogTimer = null;
    for (const tenant of this.#waiting) {
      const ms = this.#broker.work.backlogMs(tenant);
      if (ms === 0) this.#waiting.delete(tenant);
      else this.#watchBacklog(tenant);
      this.#outbox.push({ kind: "backlog", tenant, ms });
    }
  }

  async #close(): Promise<void> {
    clearTimeout(this.#backlogTimer ?? undefined);
    clearTimeout(this.#spentTimer ?? undefined);
    for (const number of this.#calls.keys()) this.#forget(number, { attempt: null });
    this.#tellEnded();
    await this.#broker.close();
    this.#pipeServer.close();
    for (const pipe of this.#pipes.values()) pipe.close();
    this.#outbox.flush();
    this.#port.close();
  }
}
