import type { ErrorCode } from "../../base/errors.ts";
import {
  type CapabilityCallMessage,
  cpuMsOf,
  type CutMessage,
  type DoneMessage,
  type Failure,
  type RanMessage,
  settleMessage,
  type LostMessage,
  type ToHost,
} from "../../base/protocol/messages.ts";
import { readFailure, readJson, readProgress, readStats } from "../../base/protocol/payload.ts";
import { homeOf, type Inspection, type ToolScript } from "../../base/protocol/script.ts";
import { countOutcomes, OUTCOME_END } from "../../base/protocol/wire.ts";
import { Batch } from "./batch.ts";
import { Batcher } from "./batcher.ts";
import { type EmitExecutorEvent, type Job, outputOf } from "../executor.ts";
import { CallTable } from "./call-table.ts";
import { LocalCall } from "./local-call.ts";
import { inspectionError, Inspector } from "./inspector.ts";
import { LingeringWork } from "./lingering-work.ts";
import type { WorkerConnection, WorkerConnectionListener } from "./worker-connection.ts";
import { WorkerRegistry } from "./worker-registry.ts";
import { DeadlineTimer } from "./deadline-timer.ts";

/** Maximum lost executors of a call without a known culprit, attempts of it, and lost executors of an inspection. */
const [LOSSES_MAX, ATTEMPTS_MAX, INSPECTION_LOSSES_MAX] = [10, 100, 3];

/** The executor that owns the connections of a dispatcher. */
export interface DispatcherOwner {
  readonly emit: EmitExecutorEvent;
  /** Called when a retired connection has ended all of its calls. */
  onLeft(connection: WorkerConnection): void;
  onBroken(connection: WorkerConnection, error: Error): void;
  /** Called when a call's result is no longer needed: its worker has to stop, also within a turn. */
  onInterrupt(connection: WorkerConnection, callNumber: number): void;
}

/**
 * Sends jobs to workers and returns their replies. Connections come and go with their processes; calls wait while no
 * connection exists, and start again if their connection is lost and they did not cause it.
 */
export class Dispatcher implements WorkerConnectionListener {
  readonly #owner: DispatcherOwner;
  readonly #nextCallNumber: () => number;
  readonly workers = new WorkerRegistry();
  readonly #calls = new CallTable<LocalCall>();
  readonly #batcher: Batcher;
  readonly #inspector = new Inspector(this.workers.serving);
  readonly #deadlineTimer = new DeadlineTimer(() => this.#endOverdue());
  readonly #lingering = new LingeringWork<WorkerConnection>();
  #closed: Failure | null = null;

  /** `nextCallNumber` numbers inspections and calls in one series, so that a culprit can be either. */
  constructor(owner: DispatcherOwner, nextCallNumber: () => number) {
    this.#owner = owner;
    this.#nextCallNumber = nextCallNumber;
    const onBatch = (size: number): void => owner.emit("dispatch:batch", { size });
    this.#batcher = new Batcher(this.workers.serving, onBatch, this.end.bind(this));
  }

  run(job: Job): void {
    this.adopt(new LocalCall(job, performance.now()));
  }

  /** Takes over a call, new or released by another dispatcher. */
  adopt(call: LocalCall): void {
    if (this.#closed !== null) return call.fail(this.#closed);
    this.#calls.add(call);
    this.#deadlineTimer.keepOn();
    this.#batcher.add(call);
  }

  /** Takes over a call that may have ended another dispatcher's executor: it runs alone, with a new deadline. */
  adoptSuspect(call: LocalCall): void {
    call.recordLoss(false);
    call.startAgain(performance.now());
    this.adopt(call);
  }

  inspect(script: ToolScript): Promise<Inspection> {
    if (this.#closed !== null) return Promise.resolve({ ok: false, error: inspectionError(this.#closed) });
    this.#deadlineTimer.keepOn();
    return this.#inspector.inspect(this.#nextCallNumber(), script);
  }

  /**
   * Ends a call now, and cancels it on its worker. Of the worker's later messages, only its processor time counts.
   * `cpuMs`: of a worker that is lost already.
   */
  end(callNumber: number, failure: Failure, cpuMs?: number): void {
    const call = this.#calls.get(callNumber);
    if (call !== undefined) {
      this.#calls.delete(callNumber);
      call.fail(failure, cpuMs, cpuMs === undefined ? this.#stop(call) : undefined);
    } else if (this.#inspector.has(callNumber)) this.#inspector.fail(callNumber, failure);
  }

  /** Has a call's worker report whenever the call only waits; also the worker of a further start. */
  watch(callNumber: number): void {
    this.#calls.get(callNumber)?.watch();
  }

  /** Stops a call on its worker. The promise is of its processor time; `undefined` for a call without a worker. */
  #stop(call: LocalCall): Promise<number> | undefined {
    const { connection, callNumber } = call;
    connection?.send({ kind: "cancel", callNumber });
    if (connection === null || this.#closed !== null) return undefined;
    this.#owner.onInterrupt(connection, callNumber);
    return this.#lingering.add(call, connection, performance.now());
  }

  /**
   * Called when a call's worker is lost by the call's fault. A call that was answered before is charged all of its
   * processor time now; returns whether it was.
   */
  endLingering(callNumber: number): boolean {
    return this.#lingering.endWhole(callNumber);
  }

  /** Removes a call without settling it, to continue elsewhere. It must be detached from its connection. */
  release(callNumber: number): LocalCall | undefined {
    const call = this.#calls.get(callNumber);
    this.#calls.delete(callNumber);
    return call;
  }

  /** Removes the waiting calls of a tool, or only those of one tenant. */
  withdraw(tool: string, tenant?: string): LocalCall[] {
    const calls = this.#batcher.withdraw(tool, tenant);
    for (const { callNumber } of calls) this.#calls.delete(callNumber);
    return calls;
  }

  attach(connection: WorkerConnection): void {
    this.workers.serving.add(connection);
    this.onPause();
  }

  /** Sends a connection no more calls; `onLeft` follows when its last one has ended. */
  retire(connection: WorkerConnection): void {
    this.workers.retire(connection);
    connection.retire();
    this.#checkLeft(connection);
  }

  /** Removes a lost connection. The caller must `restart`, `end` or `release` the returned calls. */
  detach(connection: WorkerConnection): readonly number[] {
    this.workers.remove(connection);
    this.#lingering.endOn(connection);
    const { started, waiting } = connection.abandon();
    const open: number[] = [];
    for (const callNumber of [...started, ...waiting]) {
      const call = this.#calls.get(callNumber);
      if (call?.connection === connection) call.connection = null;
      else if (!this.#inspector.has(callNumber)) continue;
      open.push(callNumber);
    }
    for (const callNumber of waiting) this.#calls.get(callNumber)?.takeBack(performance.now());
    return open;
  }

  #checkLeft(connection: WorkerConnection): void {
    if (this.workers.leaving.has(connection) && connection.isIdle) this.#owner.onLeft(connection);
  }

  /** Starts a call again that lost its connection. `isInnocent`: the culprit is known, so the loss does not count. */
  restart(callNumber: number, reason: string, isInnocent = false): void {
    const call = this.#calls.get(callNumber);
    const attempts = call?.attempts ?? this.#inspector.attempts(callNumber);
    const losses = call === undefined ? attempts : call.recordLoss(isInnocent);
    const lossesMax = call === undefined ? INSPECTION_LOSSES_MAX : LOSSES_MAX;
    if (losses >= lossesMax || attempts >= ATTEMPTS_MAX) {
      const message = `the call was started ${attempts} times and lost its executor each time: ${reason}`;
      this.end(callNumber, { code: "executor_lost", message });
      return;
    }
    if (call === undefined) return this.#inspector.restart(callNumber);
    this.#owner.emit("call:restart", { callId: call.job.callId, tool: call.job.script.name, attempts });
    call.job.onRestart?.(attempts);
    call.startAgain(performance.now());
    this.#batcher.add(call);
  }

  forget(key: string): void {
    for (const connection of this.workers.serving) connection.unload(key);
  }

  /** Ends everything in flight and refuses new work. */
  close(code: ErrorCode, message: string): void {
    this.#closed = { code, message };
    for (const { callNumber } of this.#calls.list()) this.end(callNumber, { code, message });
    for (const callNumber of this.#inspector.runs()) this.end(callNumber, { code, message });
    this.#lingering.endAll();
    this.#deadlineTimer.stop();
  }

  call(callNumber: number): LocalCall | undefined {
    return this.#calls.get(callNumber);
  }

  /** Whether nothing is in flight. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#inspector.size === 0 && this.#lingering.size === 0;
  }

  /** Called after turns have ended, so that connections may have room. */
  onPause(): void {
    this.#inspector.startWaiting();
    this.#batcher.schedule();
  }

  readonly onBroken = (connection: WorkerConnection, error: Error): void => this.#owner.onBroken(connection, error);

  onWho(connection: WorkerConnection, callNumber: number, attempt: number): void {
    const call = this.#callOn(connection, callNumber);
    if (call?.starts === attempt) call.job.introduce?.();
    else connection.asks?.refuse(callNumber, attempt);
  }

  onDiverged(connection: WorkerConnection, callNumber: number, attempt: number, message: string): void {
    if (this.#callOn(connection, callNumber)?.starts === attempt)
      this.end(callNumber, { code: "executor_lost", message });
  }

  onMessage(connection: WorkerConnection, message: ToHost): void {
    this.#receive(connection, message);
    if (this.workers.leaving.size > 0) this.#checkLeft(connection);
  }

  #receive(connection: WorkerConnection, message: ToHost): void {
    if (message.kind === "end") return;
    switch (message.kind) {
      case "ran":
        return this.#onRan(connection, message);
      case "cut":
        return this.#onCut(connection, message);
      case "done":
        return this.#onDone(connection, message);
      case "ask":
        return this.#onAsk(connection, message);
      case "lost":
        return this.#onLost(connection, message);
      case "log":
        return this.#callOn(connection, message.callNumber)?.log(message.lines);
      case "progress":
        return this.#callOn(connection, message.callNumber)?.job.onProgress?.(readProgress(message.payload));
      case "idle":
        return this.#callOn(connection, message.callNumber)?.hearIdle(message);
      case "timed":
      case "late":
      case "together":
        return this.#callOn(connection, message.callNumber)?.note(message);
      case "inspected": {
        const inspection = readJson(message.payload) as Inspection;
        const load = connection.item(message.callNumber);
        if (load === undefined) return;
        connection.end(message.callNumber, performance.now());
        // The isolate in which a module was evaluated is kept for its first call.
        if (inspection.ok) connection.recordWarm(homeOf(load.script.key, ""));
        return this.#inspector.settle(message.callNumber, inspection);
      }
      case "stats":
        return this.workers.recordStats(connection, readStats(message.payload));
    }
  }

  /** Settles the calls of an ended turn; calls that the turn did not start return to the head of their queue. */
  #onRan(connection: WorkerConnection, message: RanMessage): void {
    const { callNumber, cpuMs, outcomes } = message;
    const batch = connection.item(callNumber);
    if (!(batch instanceof Batch)) return;
    const started = countOutcomes(outcomes, batch.size);
    const nowMs = performance.now();
    for (let index = 0, at = 0; index < started; index++) {
      const end = outcomes.indexOf(OUTCOME_END, at);
      const call = batch.calls[index];
      if (call === undefined) break;
      const callMs = cpuMsOf(message, index, started);
      if (end > at && call.isOver) this.#lingering.end(call.callNumber, callMs);
      else if (end > at) this.#conclude(call, outcomes.charAt(at), outcomes.slice(at + 1, end), message, callMs, nowMs);
      else connection.going.set(call.callNumber, { script: batch.script, tenant: batch.tenant });
      at = end + 1;
    }
    connection.end(callNumber, nowMs);
    const { turnTime } = batch;
    turnTime.record(started, cpuMs);
    if (started === 0) return this.#startAlone(batch, cpuMs);
    if (started < batch.calls.length) this.#putBack(batch, started, nowMs);
  }

  /** Settles a call that ended in its first turn. */
  #conclude(
    call: LocalCall,
    sign: string,
    text: string,
    { parts, heapBytes }: RanMessage,
    cpuMs: number,
    nowMs: number,
  ): void {
    const outcome = sign === "+" ? outputOf(text, parts) : ({ ok: false, failure: readFailure(text) } as const);
    this.#calls.delete(call.callNumber);
    call.conclude(outcome, cpuMs, heapBytes, nowMs);
  }

  /** Puts unstarted calls back: a call with a long output, or one that ends its isolate, stops the batch. */
  #putBack(batch: Batch, started: number, nowMs: number): void {
    const left = batch.calls.slice(started);
    for (const call of left) {
      call.takeBack(nowMs);
      this.#lingering.end(call.callNumber, 0);
    }
    this.#batcher.putBack(batch, left);
  }

  /** A shared turn was cut: each of its calls starts again alone, with its whole budget. */
  #onCut(connection: WorkerConnection, { callNumber, cpuMs }: CutMessage): void {
    const batch = connection.item(callNumber);
    if (!(batch instanceof Batch)) return;
    connection.end(callNumber, performance.now());
    this.#startAlone(batch, cpuMs);
  }

  #startAlone(batch: Batch, cpuMs: number): void {
    batch.turnTime.forget();
    for (const call of batch.calls) {
      call.startAgain(performance.now());
      this.#lingering.end(call.callNumber, cpuMs / batch.size);
    }
    this.#batcher.putBack(batch, batch.calls);
  }

  #onLost(connection: WorkerConnection, { callNumber, cpuMs, payload }: LostMessage): void {
    if (connection.going.delete(callNumber)) {
      this.#lingering.end(callNumber, cpuMs);
      const call = this.#calls.get(callNumber);
      if (call?.connection !== connection) return;
      call.loseIsolate(cpuMs);
      return this.restart(callNumber, String(readJson(payload)), true);
    }
    const batch = connection.item(callNumber);
    if (!(batch instanceof Batch)) return;
    connection.end(callNumber, performance.now());
    for (const call of batch.calls) {
      if (call.isOver) this.#lingering.end(call.callNumber, 0);
      else this.restart(call.callNumber, String(readJson(payload)));
    }
  }

  #onDone(connection: WorkerConnection, message: DoneMessage): void {
    const failure = message.ok ? null : readFailure(message.payload);
    connection.going.delete(message.callNumber);
    this.#lingering.end(message.callNumber, message.cpuMs);
    const call = this.#calls.get(message.callNumber);
    // The call has ended here or moved to another connection, so this reply is stale.
    if (call === undefined || call.connection !== connection) return;
    this.#calls.delete(message.callNumber);
    call.finish(message, failure);
  }

  #callOn(connection: WorkerConnection, callNumber: number): LocalCall | undefined {
    const call = this.#calls.get(callNumber);
    return call?.connection === connection ? call : undefined;
  }

  #onAsk(
    connection: WorkerConnection,
    { callNumber, step, nowMs, deliveredCount, capability, method, args, reply }: CapabilityCallMessage,
  ): void {
    const call = this.#callOn(connection, callNumber);
    if (call === undefined) return;
    const { attempts: attempt, starts } = call;
    call.hasAsked = true;
    call.job.ask({ step, attempt, nowMs, deliveredCount, capability, method, args, reply }, (response) => {
      if (this.#callOn(connection, callNumber) !== call || call.attempts !== attempt) return;
      if (response.kind === "diverged")
        return this.end(callNumber, { code: "executor_lost", message: response.message });
      // Others are answered by the worker.
      if (reply === undefined) connection.send(settleMessage({ callNumber, attempt: starts, step }, response));
    });
  }

  /** Ends overdue calls and inspections; returns whether any remain. */
  #endOverdue(): boolean {
    const nowMs = performance.now();
    for (const call of this.#calls.list()) if (call.deadlineMs <= nowMs) this.end(call.callNumber, call.overdue);
    this.#inspector.endOverdue(nowMs);
    this.#lingering.endOverdue(nowMs);
    // Waiting calls may have a better place now: a connection may take longer than expected.
    this.onPause();
    return !this.isIdle;
  }
}
