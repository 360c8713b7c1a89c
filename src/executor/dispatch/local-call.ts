import type { DoneMessage, Failure } from "../../base/protocol/messages.ts";
import type { Job } from "../executor.ts";
import { DispatchedCall } from "./dispatched-call.ts";
import type { WorkerConnection } from "./worker-connection.ts";

/** A call that workers of this machine run. */
export class LocalCall extends DispatchedCall {
  connection: WorkerConnection | null = null;
  /** Whether the call shares its turn with no others: a turn, an isolate or a worker was lost under it. */
  alone: boolean;
  /** Whether the call has made a capability request since its last start. */
  hasAsked = false;
  #linesOfStart = 0;
  #isolatesLost = 0;
  /** Whether the call ever lost its executor, and how often for a reason that nobody knows. */
  #hasLostExecutor = false;
  #unexplainedLosses = 0;
  #kills = 0;

  constructor(job: Job, nowMs: number) {
    super(job, nowMs);
    // Responses are replayed in an order that only a message of its own can carry.
    this.alone = job.replay?.isResumed === true;
  }

  /** Starts the call on a worker: its own time begins. */
  start(connection: WorkerConnection, nowMs: number): void {
    this.connection = connection;
    this.attempts++;
    this.#linesOfStart = 0;
    this.hasAsked = false;
    this.deadlineMs = nowMs + this.job.limits.wallMs;
    if (this.hasStarted) return;
    this.nowMs = this.job.replay?.nowMs ?? Date.now();
    this.recordStart(nowMs);
  }

  /** Waits again after it was sent and did not have its turn: no attempt, unless it has made a request. */
  takeBack(nowMs: number): void {
    this.connection = null;
    // Responses are replayed in an order that only a message of its own can carry.
    if (this.hasAsked) this.alone = true;
    else this.attempts--;
    this.deadlineMs = nowMs + this.job.limits.queueMs;
  }

  log(line: string): void {
    this.logLine(this.#linesOfStart++, line);
  }

  /** Another call ended the isolate that it was in. */
  loseIsolate(): void {
    this.#isolatesLost++;
  }

  /** Counts a lost executor; returns how many losses have no known culprit. */
  recordLoss(isInnocent: boolean): number {
    this.#hasLostExecutor = true;
    if (!isInnocent) this.#unexplainedLosses++;
    return this.#unexplainedLosses;
  }

  /** Counts that somebody killed its executor during its turn. More than once, the call may be the cause: by its memory. */
  recordKill(): boolean {
    return ++this.#kills > 1;
  }

  /** Whether the call shares its isolate with no other call of the tool: from the second lost isolate on. */
  get ownIsolate(): boolean {
    return this.#isolatesLost >= 2;
  }

  /** Waits for another worker after it lost its executor, with all of its time again and alone in its turn. */
  startAgain(nowMs: number): void {
    this.connection = null;
    this.alone = true;
    this.deadlineMs = nowMs + this.job.limits.queueMs;
  }

  get overdue(): Failure {
    const { wallMs, queueMs } = this.job.limits;
    if (this.connection !== null) return { code: "wall_limit", message: `the call took longer than ${wallMs} ms` };
    const waited = `waited longer than ${queueMs} ms for a worker`;
    return this.#hasLostExecutor
      ? { code: "executor_lost", message: `the call lost its executor and ${waited}` }
      : { code: "queue_timeout", message: `the call ${waited}` };
  }

  /** Ends with the outcome of the call's only turn: `+` and the output's JSON, or a failure. */
  conclude(outcome: string, failure: Failure | null, cpuMs: number, heapBytes: number, nowMs: number): void {
    const ended =
      failure === null ? ({ ok: true, json: outcome.slice(1) } as const) : ({ ok: false, failure } as const);
    this.settle(ended, { cpuMs, heapBytes, logs: "", dropped: 0, heard: 0 }, nowMs);
  }

  finish(done: DoneMessage, failure: Failure | null): void {
    const ended = failure === null ? ({ ok: true, json: done.payload } as const) : ({ ok: false, failure } as const);
    this.settle(ended, done, performance.now());
  }
}
