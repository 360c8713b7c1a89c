import type { ErrorCode } from "../../base/errors.ts";
import type { CapabilityCallMessage, DoneMessage, Failure, RanMessage, ToHost } from "../../base/protocol/messages.ts";
import { readFailure, readJson, readProgress, readStats } from "../../base/protocol/payload.ts";
import type { Inspection, ToolScript } from "../../base/protocol/script.ts";
import { ProtocolError } from "../../base/protocol/wire.ts";
import { settleMessage } from "./answer.ts";
import { Batch } from "./batch.ts";
import { Batcher } from "./batcher.ts";
import type { Job, EmitExecutorEvent } from "../executor.ts";
import { LocalCall } from "./local-call.ts";
import { inspectionError, Inspector } from "./inspector.ts";
import type { WorkerConnection, WorkerConnectionListener } from "./worker-connection.ts";
import { WorkerRegistry } from "./worker-registry.ts";
import { DeadlineTimer } from "./deadline-timer.ts";

/** How often a call loses its executor before the engine gives up on it: where nobody knows why, and in any case. */
const LOSSES_MAX = 10;
const ATTEMPTS_MAX = 100;
/** A module that is loaded costs nobody else's call anything, and has nobody who waits for long. */
const INSPECTION_LOSSES_MAX = 3;

/** What a dispatcher needs from whoever owns the lanes. */
export interface DispatcherOwner {
  readonly tell: EmitExecutorEvent;
  /** A lane that was retired has ended all that it had. */
  onLeft(lane: WorkerConnection): void;
  onBroken(lane: WorkerConnection, error: Error): void;
}

/**
 * Brings jobs to lanes and replies back. Lanes come and go with their processes; calls wait where there is none, and
 * are started again where their lane is lost through no fault of theirs.
 */
export class Dispatcher implements WorkerConnectionListener {
  readonly #owner: DispatcherOwner;
  readonly #nextRun: () => number;
  /** The workers, and what they tell of themselves. */
  readonly roster = new WorkerRegistry();
  readonly #flights = new Map<number, LocalCall>();
  readonly #batcher: Batcher;
  readonly #inspector = new Inspector(this.roster.serving);
  readonly #sweep = new DeadlineTimer(() => this.#endOverdue());
  #closed: Failure | null = null;

  /** `nextRun` numbers inspections from the same series as calls, so that blame finds either. */
  constructor(owner: DispatcherOwner, nextRun: () => number) {
    this.#owner = owner;
    this.#nextRun = nextRun;
    this.#batcher = new Batcher(this.roster.serving, (size) => owner.tell("dispatch:batch", { size }));
  }

  run(job: Job): void {
    this.adopt(new LocalCall(job, performance.now()));
  }

  /** Takes over a call, a new one or one that another dispatcher gave up. */
  adopt(flight: LocalCall): void {
    if (this.#closed !== null) return flight.fail(this.#closed);
    this.#flights.set(flight.run, flight);
    this.#sweep.keepOn();
    this.#batcher.add(flight);
  }

  /** Takes over a call that may have cost another dispatcher its executor: it goes alone, with a new deadline. */
  adoptSuspect(flight: LocalCall): void {
    flight.recordLoss(false);
    flight.startAgain(performance.now());
    this.adopt(flight);
  }

  inspect(script: ToolScript): Promise<Inspection> {
    if (this.#closed !== null) return Promise.resolve({ ok: false, error: inspectionError(this.#closed) });
    this.#sweep.keepOn();
    return this.#inspector.inspect(this.#nextRun(), script);
  }

  /** Ends a call now. Its worker is told, and what it still sends of the call is ignored. */
  end(run: number, failure: Failure, cpuMs = 0): void {
    const flight = this.#flights.get(run);
    if (flight !== undefined) {
      this.#flights.delete(run);
      flight.lane?.send({ kind: "cancel", run });
      flight.fail(failure, cpuMs);
    } else if (this.#inspector.has(run)) this.#inspector.fail(run, failure);
  }

  /** Takes a call away without settling it: it goes on elsewhere. It must have no lane any more. */
  release(run: number): LocalCall | undefined {
    const flight = this.#flights.get(run);
    this.#flights.delete(run);
    return flight;
  }

  /** Takes away the calls of a tool, or of a tenant's of it, that wait for a worker. */
  withdraw(tool: string, tenant?: string): LocalCall[] {
    const flights = this.#batcher.withdraw(tool, tenant);
    for (const { run } of flights) this.#flights.delete(run);
    return flights;
  }

  attach(lane: WorkerConnection): void {
    this.roster.serving.add(lane);
    this.onPause();
  }

  /** Gives a lane no more calls; its owner hears when it has ended those that it has. */
  retire(lane: WorkerConnection): void {
    this.roster.retire(lane);
    this.#checkLeft(lane);
  }

  /** Forgets a lane that is gone. Its open calls wait for `restart`, `end` or `release`. */
  detach(lane: WorkerConnection): readonly number[] {
    this.roster.remove(lane);
    const { started, waiting } = lane.abandon();
    const open: number[] = [];
    for (const run of [...started, ...waiting]) {
      const flight = this.#flights.get(run);
      if (flight?.lane === lane) flight.lane = null;
      else if (!this.#inspector.has(run)) continue;
      open.push(run);
    }
    for (const run of waiting) this.#flights.get(run)?.takeBack(performance.now());
    return open;
  }

  #checkLeft(lane: WorkerConnection): void {
    if (this.roster.leaving.has(lane) && lane.isIdle) this.#owner.onLeft(lane);
  }

  /** Starts a call again that lost its lane. `isInnocent`: it is known whose fault that was, so it does not count. */
  restart(run: number, reason: string, isInnocent = false): void {
    const flight = this.#flights.get(run);
    const attempts = flight?.attempts ?? this.#inspector.attempts(run);
    const losses = flight === undefined ? attempts : flight.recordLoss(isInnocent);
    const lossesMax = flight === undefined ? INSPECTION_LOSSES_MAX : LOSSES_MAX;
    if (losses >= lossesMax || attempts >= ATTEMPTS_MAX) {
      const message = `the call was started ${attempts} times and lost its executor each time: ${reason}`;
      this.end(run, { code: "executor_lost", message });
      return;
    }
    if (flight === undefined) return this.#inspector.restart(run);
    this.#owner.tell("call:restart", { callId: flight.job.callId, tool: flight.job.script.name, attempts });
    flight.job.onRestart?.(attempts);
    flight.startAgain(performance.now());
    this.#batcher.add(flight);
  }

  forget(key: string): void {
    for (const lane of this.roster.serving) lane.unload(key);
  }

  /** Ends everything in flight, for good. */
  close(code: ErrorCode, message: string): void {
    this.#closed = { code, message };
    for (const run of [...this.#flights.keys(), ...this.#inspector.runs()]) this.end(run, { code, message });
    this.#sweep.stop();
  }

  flight(run: number): LocalCall | undefined {
    return this.#flights.get(run);
  }

  /** Whether nothing is in flight. */
  get isIdle(): boolean {
    return this.#flights.size === 0 && this.#inspector.size === 0;
  }

  /** Turns have ended, so there is room again. */
  onPause(): void {
    this.#inspector.startWaiting();
    this.#batcher.schedule();
  }

  onBroken(lane: WorkerConnection, error: Error): void {
    this.#owner.onBroken(lane, error);
  }

  onMessage(lane: WorkerConnection, message: ToHost): void {
    this.#take(lane, message);
    if (this.roster.leaving.size > 0) this.#checkLeft(lane);
  }

  #take(lane: WorkerConnection, message: ToHost): void {
    switch (message.kind) {
      case "ran":
        return this.#onRan(lane, message);
      case "cut":
        return this.#onCut(lane, message.run);
      case "done":
        return this.#onDone(lane, message);
      case "ask":
        return this.#onAsk(lane, message);
      case "lost":
        return this.#onLost(lane, message.run, String(readJson(message.payload)));
      case "log":
        return this.#flightOn(lane, message.run)?.log(message.payload);
      case "progress":
        return this.#flightOn(lane, message.run)?.job.onProgress?.(readProgress(message.payload));
      case "timed":
        return this.#flightOn(lane, message.run)?.job.replay?.onTimed(message.step, message.nowMs);
      case "inspected": {
        const inspection = readJson(message.payload) as Inspection;
        const load = lane.load(message.run);
        if (load === undefined) return;
        lane.end(message.run, performance.now());
        // The isolate in which a module was evaluated is kept for its first call.
        if (inspection.ok) lane.noteWarm(load.script.key, "");
        return this.#inspector.settle(message.run, inspection);
      }
      case "stats":
        return this.roster.noteStats(lane, readStats(message.payload));
    }
  }

  /** A turn that started calls has ended: most of them with it, and those it did not come to go first again. */
  #onRan(lane: WorkerConnection, { run, cpuMs, heapBytes, outcomes }: RanMessage): void {
    const batch = lane.load(run);
    if (!(batch instanceof Batch)) return;
    const said = outcomes.split("\t");
    // What follows the last tab is nothing.
    const started = said.length - 1;
    if (started > batch.flights.length) throw new ProtocolError("outcomes of calls that were not sent");
    const nowMs = performance.now();
    const callMs = cpuMs / Math.max(1, started);
    for (let at = 0; at < started; at++) {
      const flight = batch.flights[at];
      const outcome = said[at] ?? "";
      if (flight === undefined) continue;
      if (outcome === "") lane.going.set(flight.run, { script: batch.script, tenant: batch.tenant });
      if (outcome === "" || flight.isOver) continue;
      const failure = outcome.startsWith("+") ? null : readFailure(outcome.slice(1));
      this.#flights.delete(flight.run);
      flight.conclude(outcome, failure, callMs, heapBytes, nowMs);
    }
    lane.end(run, nowMs);
    const { pace } = batch;
    pace.note(started, cpuMs);
    if (started === 0) return this.#startAlone(batch);
    if (started < batch.flights.length) this.#putBack(batch, started, nowMs);
  }

  /** Calls that answer at length, or end their isolate, leave those that were to follow. */
  #putBack(batch: Batch, started: number, nowMs: number): void {
    const left = batch.flights.slice(started);
    for (const flight of left) flight.takeBack(nowMs);
    this.#batcher.putBack(batch, left);
  }

  /** A turn was ended that several calls had together: each starts again alone, with all of its budget. */
  #onCut(lane: WorkerConnection, run: number): void {
    const batch = lane.load(run);
    if (!(batch instanceof Batch)) return;
    lane.end(run, performance.now());
    this.#startAlone(batch);
  }

  #startAlone(batch: Batch): void {
    batch.pace.forget();
    for (const flight of batch.flights) flight.startAgain(performance.now());
    this.#batcher.putBack(batch, batch.flights);
  }

  #onLost(lane: WorkerConnection, run: number, reason: string): void {
    if (lane.going.delete(run)) {
      const flight = this.#flights.get(run);
      if (flight?.lane !== lane) return;
      flight.loseIsolate();
      return this.restart(run, reason, true);
    }
    const batch = lane.load(run);
    if (!(batch instanceof Batch)) return;
    lane.end(run, performance.now());
    for (const flight of batch.flights) if (!flight.isOver) this.restart(flight.run, reason);
  }

  #onDone(lane: WorkerConnection, message: DoneMessage): void {
    const failure = message.ok ? null : readFailure(message.payload);
    lane.going.delete(message.run);
    const flight = this.#flights.get(message.run);
    // A call that was ended here, or moved to another lane, is no longer this worker's to settle.
    if (flight === undefined || flight.lane !== lane) return;
    this.#flights.delete(message.run);
    flight.finish(message, failure);
  }

  #flightOn(lane: WorkerConnection, run: number): LocalCall | undefined {
    const flight = this.#flights.get(run);
    return flight?.lane === lane ? flight : undefined;
  }

  #onAsk(lane: WorkerConnection, { run, step, nowMs, heard, capability, method, args }: CapabilityCallMessage): void {
    const flight = this.#flights.get(run);
    if (flight === undefined || flight.lane !== lane) return;
    flight.hasAsked = true;
    const { attempts } = flight;
    const call = { step, attempt: attempts, nowMs, heard, capability, method, args };
    void flight.job.ask(call).then((response) => {
      if (this.#flights.get(run) !== flight || flight.lane !== lane || flight.attempts !== attempts) return;
      if (response.kind !== "diverged") return lane.send(settleMessage(run, step, response));
      this.end(run, { code: "executor_lost", message: response.message });
    });
  }

  /** Ends what is overdue; says whether anything is left. */
  #endOverdue(): boolean {
    const nowMs = performance.now();
    for (const [run, flight] of this.#flights) if (flight.deadlineMs <= nowMs) this.end(run, flight.overdue);
    this.#inspector.endOverdue(nowMs);
    // A lane that takes longer than was expected is no longer the best place for those that wait for it.
    this.onPause();
    return !this.isIdle;
  }
}
