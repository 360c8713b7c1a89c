import type { Failure } from "../../base/protocol/messages.ts";
import type { Job, CallReply } from "../executor.ts";

/** Resources and logs of a call, known at its end. */
type CallUsage = Pick<CallReply, "cpuMs" | "heapBytes" | "logs" | "dropped" | "deliveredCount" | "asked" | "turns">;

/** A job between its dispatch and its reply. It settles exactly once, even if its workers are lost. */
export abstract class DispatchedCall {
  readonly job: Job;
  readonly callNumber: number;
  attempts = 0;
  /** Time at which the call ends in any case: first the end of its wait for a worker, then of its run. */
  deadlineMs: number;
  /** The call's clock at its first start, in milliseconds since the epoch: the same in every further attempt. */
  nowMs = 0;
  isOver = false;
  /** Processor time of earlier starts for which the call is charged, in milliseconds. */
  protected lostCpuMs = 0;
  /** Receives the reply before the job does. */
  onEnd: ((reply: CallReply) => void) | null = null;
  readonly #dispatchedMs: number;
  #firstStartMs: number | null = null;
  /** Number of emitted log lines: each attempt writes the same ones again. */
  #logged = 0;

  constructor(job: Job, nowMs: number) {
    this.job = job;
    this.callNumber = job.callNumber;
    this.#dispatchedMs = nowMs;
    this.deadlineMs = nowMs + job.waitMs;
  }

  /** The failure with which the call ends at its deadline. */
  abstract get overdue(): Failure;

  /** `work`: of a call whose worker still works. */
  fail(failure: Failure, cpuMs = 0, work?: Promise<number>): void {
    this.settle({ ok: false, failure }, { cpuMs, heapBytes: 0, logs: "", dropped: 0 }, performance.now(), work);
  }

  protected get hasStarted(): boolean {
    return this.#firstStartMs !== null;
  }

  /** Reports the first start; later ones have no effect. */
  protected recordStart(nowMs: number): void {
    if (this.#firstStartMs !== null) return;
    this.#firstStartMs = nowMs;
    this.job.onStart?.(nowMs, this.nowMs);
  }

  /** Corrects the first start to the time measured by the executor that ran the call. */
  protected correctStart(waitedMs: number, latestMs: number): void {
    if (this.#firstStartMs === null) return;
    this.#firstStartMs = Math.max(this.#dispatchedMs, Math.min(this.#firstStartMs + waitedMs, latestMs));
  }

  /** Emits the line with this index, unless an earlier attempt did. */
  protected logLine(index: number, line: string): void {
    if (index < this.#logged) return;
    this.#logged = index + 1;
    this.job.onLog(line);
  }

  protected settle(
    outcome: CallReply["outcome"],
    { cpuMs, heapBytes, logs, dropped, deliveredCount, asked, turns = "" }: CallUsage,
    nowMs: number,
    work?: Promise<number>,
  ): void {
    if (this.isOver) return;
    this.isOver = true;
    const { attempts } = this;
    const startMs = this.#firstStartMs ?? nowMs;
    const ended = {
      outcome,
      cpuMs: cpuMs + this.lostCpuMs,
      waitedMs: startMs - this.#dispatchedMs,
      wallMs: nowMs - startMs,
      heapBytes,
      attempts,
      logs,
      dropped,
      deliveredCount,
      asked,
    };
    const told = turns === "" ? ended : { ...ended, turns };
    const reply = work === undefined ? told : { ...told, work };
    this.onEnd?.(reply);
    this.job.settle(reply);
  }
}
