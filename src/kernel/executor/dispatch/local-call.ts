import type {
  DoneMessage,
  Failure,
  IdleMessage,
  LateMessage,
  TimedMessage,
  TogetherMessage,
} from "../../base/protocol/messages.ts";
import { type CallReply, type Job, outputOf } from "../executor.ts";
import { DispatchedCall } from "./dispatched-call.ts";
import type { WorkerConnection } from "./worker-connection.ts";

/** A call that runs on a worker of this machine. */
export class LocalCall extends DispatchedCall {
  connection: WorkerConnection | null = null;
  /** Whether the call shares its turn with no others: it has lost a turn, an isolate or a worker. */
  alone: boolean;
  /** Whether the call has made a capability request since its last start. */
  hasAsked = false;
  isWatched = false;
  /** Number of starts, with those that do not count as attempts: different for each start. */
  starts = 0;
  #linesOfStart = 0;
  #isolatesLost = 0;
  /** Whether the call ever lost its executor, and the number of losses without a known culprit. */
  #hasLostExecutor = false;
  #unexplainedLosses = 0;
  #kills = 0;

  constructor(job: Job, nowMs: number) {
    super(job, nowMs);
    // The order of replayed responses only fits a message with a single call.
    this.alone = job.replay?.isResumed === true;
  }

  /** Starts the call on a worker: its wall time begins. `clockMs`: the time since the epoch, for the call's clock. */
  start(connection: WorkerConnection, nowMs: number, clockMs: number): void {
    this.connection = connection;
    this.attempts++;
    this.starts++;
    this.#linesOfStart = 0;
    this.hasAsked = false;
    this.deadlineMs = nowMs + this.job.limits.wallMs;
    this.job.begin?.(connection.asks?.openNumber ?? null, this.starts);
    if (this.hasStarted) return;
    this.nowMs = this.job.replay?.nowMs ?? clockMs;
    this.recordStart(nowMs);
  }

  /**
   * Returns the call to waiting before it had a turn. This does not count as an attempt, unless it made a capability
   * call.
   */
  takeBack(nowMs: number): void {
    this.connection = null;
    // The order of replayed responses only fits a message with a single call.
    if (this.hasAsked) this.alone = true;
    else this.attempts--;
    this.deadlineMs = nowMs + this.job.limits.queueMs;
  }

  /** Has its worker report whenever it only waits; also the worker of a further start. */
  watch(): void {
    this.isWatched = true;
    this.connection?.send({ kind: "watch", callNumber: this.callNumber });
  }

  hearIdle({ attempt, asked, delivered, dueInMs, usedMs }: IdleMessage): void {
    if (attempt === this.starts) this.job.onIdle?.({ asked, delivered, dueInMs: dueInMs < 0 ? null : dueInMs, usedMs });
  }

  /** An event that a further start has to repeat. */
  note(message: TimedMessage | LateMessage | TogetherMessage): void {
    const { replay } = this.job;
    switch (message.kind) {
      case "timed":
        return replay?.onTimed(message.step, message.nowMs);
      case "late":
        return replay?.onLate(message.fired, message.nowMs);
      case "together":
        return replay?.onTogether(message.at, message.count);
    }
  }

  log(lines: readonly string[]): void {
    for (const line of lines) this.logLine(this.#linesOfStart++, line);
  }

  /** Called when the isolate of this call and others was ended, after `cpuMs` for which this call is charged. */
  loseIsolate(cpuMs: number): void {
    this.#isolatesLost++;
    this.lostCpuMs += cpuMs;
  }

  /** Counts a lost executor; returns the number of losses without a known culprit. */
  recordLoss(isInnocent: boolean): number {
    this.#hasLostExecutor = true;
    if (!isInnocent) this.#unexplainedLosses++;
    return this.#unexplainedLosses;
  }

  /**
   * Counts an external kill of the executor during the call's turn. Returns whether it was repeated: then the call's
   * memory use may be the cause.
   */
  recordKill(): boolean {
    return ++this.#kills > 1;
  }

  /** Whether the call gets an isolate of its own: from the second lost isolate on. */
  get ownIsolate(): boolean {
    return this.#isolatesLost >= 2;
  }

  /** Returns the call to waiting after the loss of its executor, with its whole time and alone in its turn. */
  startAgain(nowMs: number): void {
    this.connection = null;
    this.alone = true;
    this.deadlineMs = nowMs + this.job.limits.queueMs;
  }

  get overdue(): Failure {
    const { wallMs, queueMs } = this.job.limits;
    if (this.connection !== null)
      return { code: "wall_limit", message: `the call took longer than ${wallMs} ms (limits.wallMs)` };
    const waited = `waited longer than ${queueMs} ms (limits.queueMs) for a worker`;
    return this.#hasLostExecutor
      ? { code: "executor_lost", message: `the call lost its executor and ${waited}` }
      : { code: "queue_timeout", message: `the call ${waited}` };
  }

  /** Settles with the outcome of the call's only turn. */
  conclude(outcome: CallReply["outcome"], cpuMs: number, heapBytes: number, nowMs: number): void {
    this.settle(outcome, { cpuMs, heapBytes, logs: "", dropped: 0, deliveredCount: 0, asked: false }, nowMs);
  }

  finish(done: DoneMessage, failure: Failure | null): void {
    const ended = failure === null ? outputOf(done.payload, done.parts) : ({ ok: false, failure } as const);
    this.settle(ended, done, performance.now());
  }
}
