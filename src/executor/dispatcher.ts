import type { ErrorCode } from "../errors.ts";
import type { AskMessage, DoneMessage, Failure, ToHost, WorkerStats } from "../protocol/messages.ts";
import type { Inspection, ToolScript } from "../protocol/script.ts";
import { readFailure, readJson } from "../protocol/payload.ts";
import type { Job, Reply } from "./executor.ts";
import { Flight } from "./flight.ts";
import { inspectionError, type PendingInspection } from "./inspection.ts";
import type { Lane, LaneListener } from "./lane.ts";
import { place } from "./placement.ts";

/** How often a call is started before the engine gives up on it. */
const ATTEMPTS_MAX = 3;
const SWEEP_MS = 20;
const INSPECT_CPU_MS = 2_000;
const INSPECT_WALL_MS = 15_000;

/** What a dispatcher needs from whoever owns the lanes. */
export interface DispatcherOwner {
  onBatch(size: number): void;
  onBroken(lane: Lane, error: Error): void;
}

/**
 * Brings jobs to lanes and replies back. Lanes come and go with their processes; calls wait where there is none, and
 * are started again where their lane is lost through no fault of theirs.
 */
export class Dispatcher implements LaneListener {
  readonly #owner: DispatcherOwner;
  readonly #nextRun: () => number;
  readonly #lanes = new Set<Lane>();
  readonly #flights = new Map<number, Flight>();
  readonly #inspections = new Map<number, PendingInspection>();
  readonly #waiting = new Set<number>();
  readonly #stats = new Map<Lane, WorkerStats>();
  /** What lanes that are gone had started. */
  readonly #pastStarts = new Map<string, number>();
  #sweep: NodeJS.Timeout | null = null;
  #closed: Failure | null = null;

  /** `nextRun` numbers inspections from the same series as calls, so that blame finds either. */
  constructor(owner: DispatcherOwner, nextRun: () => number) {
    this.#owner = owner;
    this.#nextRun = nextRun;
  }

  run(job: Job): Promise<Reply> {
    return new Promise((resolve) => {
      const startMs = performance.now();
      const flight = new Flight(job, Date.now(), startMs, resolve);
      flight.deadlineMs = startMs + job.limits.wallMs;
      this.adopt(flight);
    });
  }

  /** Takes over a call, a new one or one that another dispatcher gave up. */
  adopt(flight: Flight): void {
    if (this.#closed !== null) return flight.fail(this.#closed);
    this.#flights.set(flight.job.run, flight);
    this.#sweep ??= setInterval(() => this.#endOverdue(), SWEEP_MS);
    this.#start(flight);
  }

  inspect(script: ToolScript): Promise<Inspection> {
    if (this.#closed !== null) return Promise.resolve({ ok: false, error: inspectionError(this.#closed) });
    return new Promise((resolve) => {
      const deadlineMs = performance.now() + INSPECT_WALL_MS;
      const run = this.#nextRun();
      this.#inspections.set(run, { script, attempts: 0, deadlineMs, resolve });
      this.#sweep ??= setInterval(() => this.#endOverdue(), SWEEP_MS);
      this.#startInspection(run);
    });
  }

  /** Ends a call now. Its worker is told, and what it still sends of the call is ignored. */
  end(run: number, failure: Failure, cpuMs = 0): void {
    const flight = this.#flights.get(run);
    if (flight !== undefined) {
      this.#flights.delete(run);
      this.#waiting.delete(run);
      flight.lane?.send({ kind: "cancel", run });
      flight.fail(failure, cpuMs);
      return;
    }
    const inspection = this.#inspections.get(run);
    if (inspection !== undefined) this.#endInspection(run, inspection, failure);
  }

  /** Takes a call away without settling it: it goes on elsewhere. */
  release(run: number): Flight | undefined {
    const flight = this.#flights.get(run);
    this.#flights.delete(run);
    this.#waiting.delete(run);
    return flight;
  }

  attach(lane: Lane): void {
    this.#lanes.add(lane);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const run of waiting) this.#startAgain(run);
  }

  /** Forgets a lane that is gone. Its open calls wait for `restart`, `end` or `release`. */
  detach(lane: Lane): readonly number[] {
    this.#lanes.delete(lane);
    const stats = this.#stats.get(lane);
    this.#stats.delete(lane);
    for (const [kind, count] of Object.entries(stats?.starts ?? {})) {
      this.#pastStarts.set(kind, (this.#pastStarts.get(kind) ?? 0) + count);
    }
    const open: number[] = [];
    for (const run of lane.open) if (this.#flights.has(run) || this.#inspections.has(run)) open.push(run);
    lane.open.clear();
    for (const run of open) {
      const flight = this.#flights.get(run);
      if (flight !== undefined) flight.lane = null;
    }
    return open;
  }

  /** Starts a call again that lost its lane through no fault of its own. */
  restart(run: number, reason: string): void {
    const attempts = this.#flights.get(run)?.attempts ?? this.#inspections.get(run)?.attempts ?? 0;
    if (attempts >= ATTEMPTS_MAX) {
      const message = `the call was started ${attempts} times and lost its executor each time: ${reason}`;
      this.end(run, { code: "executor_lost", message });
      return;
    }
    this.#startAgain(run);
  }

  forget(key: string): void {
    for (const lane of this.#lanes) lane.unload(key);
  }

  /** Ends everything in flight, for good. */
  close(code: ErrorCode, message: string): void {
    this.#closed = { code, message };
    for (const run of [...this.#flights.keys(), ...this.#inspections.keys()]) this.end(run, { code, message });
    if (this.#sweep !== null) clearInterval(this.#sweep);
    this.#sweep = null;
  }

  get workerStats(): Iterable<WorkerStats> {
    return this.#stats.values();
  }

  get pastStarts(): ReadonlyMap<string, number> {
    return this.#pastStarts;
  }

  flight(run: number): Flight | undefined {
    return this.#flights.get(run);
  }

  /** The script of a call or an inspection in flight. */
  scriptOf(run: number): ToolScript | undefined {
    return this.#flights.get(run)?.job.script ?? this.#inspections.get(run)?.script;
  }

  onBatch(size: number): void {
    this.#owner.onBatch(size);
  }

  onBroken(lane: Lane, error: Error): void {
    this.#owner.onBroken(lane, error);
  }

  onMessage(lane: Lane, message: ToHost): void {
    switch (message.kind) {
      case "done":
        return this.#onDone(lane, message);
      case "ask":
        return this.#onAsk(lane, message);
      case "lost": {
        const reason = String(readJson(message.payload));
        if (lane.open.delete(message.run)) this.restart(message.run, reason);
        return;
      }
      case "log":
        this.#flights.get(message.run)?.job.onLog(message.payload);
        return;
      case "inspected": {
        const inspection = readJson(message.payload) as Inspection;
        lane.open.delete(message.run);
        this.#inspections.get(message.run)?.resolve(inspection);
        this.#inspections.delete(message.run);
        return;
      }
      case "stats":
        if (this.#lanes.has(lane)) this.#stats.set(lane, readJson(message.payload) as WorkerStats);
        return;
    }
  }

  #onDone(lane: Lane, message: DoneMessage): void {
    const failure = message.ok ? null : readFailure(message.payload);
    lane.open.delete(message.run);
    const flight = this.#flights.get(message.run);
    // A call that was ended here, or moved to another lane, is no longer this worker's to settle.
    if (flight === undefined || flight.lane !== lane) return;
    this.#flights.delete(message.run);
    flight.finish(message, failure);
  }

  #onAsk(lane: Lane, { run, ask, capability, method, payload }: AskMessage): void {
    const flight = this.#flights.get(run);
    if (flight === undefined || flight.lane !== lane) return;
    const { attempts } = flight;
    void flight.job.ask({ step: ask, capability, method, args: payload }).then((answer) => {
      if (this.#flights.get(run) !== flight || flight.lane !== lane || flight.attempts !== attempts) return;
      switch (answer.kind) {
        case "value":
          return lane.send({ kind: "settle", run, ask, ok: true, nowMs: answer.nowMs, payload: answer.json });
        case "failure": {
          const failure = JSON.stringify(answer.failure);
          return lane.send({ kind: "settle", run, ask, ok: false, nowMs: answer.nowMs, payload: failure });
        }
        case "diverged":
          this.end(run, { code: "executor_lost", message: answer.message });
          return;
      }
    });
  }

  #startAgain(run: number): void {
    const flight = this.#flights.get(run);
    if (flight !== undefined) {
      flight.deadlineMs = performance.now() + flight.job.limits.wallMs;
      this.#start(flight);
    } else if (this.#inspections.has(run)) this.#startInspection(run);
  }

  #start(flight: Flight): void {
    const { job } = flight;
    const lane = place(this.#lanes, job.script.key, job.tenant);
    flight.lane = lane;
    if (lane === null) {
      this.#waiting.add(job.run);
      return;
    }
    flight.attempts++;
    lane.open.add(job.run);
    lane.load(job.script);
    if (this.#lanes.size > 1) lane.markWarm(job.script.key, job.tenant);
    const { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes } = job.limits;
    lane.send({
      kind: "run",
      run: job.run,
      key: job.script.key,
      tenant: job.tenant,
      callId: job.callId,
      nowMs: flight.nowMs,
      cpuMs,
      outputBytes,
      logBytes,
      capabilityCalls,
      capabilityBytes,
      stream: job.stream,
      alone: flight.attempts > 1,
      args: job.args,
    });
  }

  #startInspection(run: number): void {
    const inspection = this.#inspections.get(run);
    if (inspection === undefined) return;
    const lane = place(this.#lanes, inspection.script.key, "");
    if (lane === null) {
      this.#waiting.add(run);
      return;
    }
    inspection.attempts++;
    lane.open.add(run);
    lane.send({ kind: "inspect", run, cpuMs: INSPECT_CPU_MS, script: inspection.script });
  }

  #endInspection(run: number, inspection: PendingInspection, failure: Failure): void {
    this.#inspections.delete(run);
    this.#waiting.delete(run);
    inspection.resolve({ ok: false, error: inspectionError(failure) });
  }

  /** One clock for all deadlines. It stops when it finds nothing to watch. */
  #endOverdue(): void {
    const nowMs = performance.now();
    for (const [run, flight] of this.#flights) {
      if (flight.deadlineMs > nowMs) continue;
      this.end(run, { code: "wall_limit", message: `the call took longer than ${flight.job.limits.wallMs} ms` });
    }
    for (const [run, inspection] of this.#inspections) {
      if (inspection.deadlineMs > nowMs) continue;
      const message = `it took longer than ${INSPECT_WALL_MS} ms to load`;
      this.#endInspection(run, inspection, { code: "wall_limit", message });
    }
    if (this.#flights.size > 0 || this.#inspections.size > 0 || this.#sweep === null) return;
    clearInterval(this.#sweep);
    this.#sweep = null;
  }
}
