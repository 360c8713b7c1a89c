import type { Failure } from "../../base/protocol/messages.ts";
import type { Job, CallReply } from "../executor.ts";

/** What a call has used up and written when it ends. */
type CallUsage = Pick<CallReply, "cpuMs" | "heapBytes" | "logs" | "dropped" | "heard">;

/** A job between its dispatch and its reply. It settles once, whatever happens to the workers that run it. */
export abstract class DispatchedCall {
  readonly job: Job;
  readonly run: number;
  attempts = 0;
  /** When the call ends whatever happens: first its time to wait for a worker, then its time to run. */
  deadlineMs: number;
  /** The call's clock at its first start, since the epoch: the same in every further attempt. */
  nowMs = 0;
  isOver = false;
  /** Takes the reply before the job does. */
  onEnd: ((reply: CallReply) => void) | null = null;
  readonly #dispatchedMs: number;
  #firstStartMs: number | null = null;
  /** Log lines handed on so far: each start writes the same ones again. */
  #logged = 0;

  constructor(job: Job, nowMs: number) {
    this.job = job;
    this.run = job.run;
    this.#dispatchedMs = nowMs;
    this.deadlineMs = nowMs + job.waitMs;
  }

  /** The failure with which the call ends at its deadline. */
  abstract get overdue(): Failure;

  fail(failure: Failure, cpuMs = 0): void {
    this.settle({ ok: false, failure }, { cpuMs, heapBytes: 0, logs: "", dropped: 0 }, performance.now());
  }

  protected get hasStarted(): boolean {
    return this.#firstStartMs !== null;
  }

  /** Reports the first start; every further one changes nothing. */
  protected recordStart(nowMs: number): void {
    if (this.#firstStartMs !== null) return;
    this.#firstStartMs = nowMs;
    this.job.onStart?.(nowMs, this.nowMs);
  }

  /** Moves the first start to where the executor that ran the call measured it. */
  protected correctStart(waitedMs: number, latestMs: number): void {
    if (this.#firstStartMs === null) return;
    this.#firstStartMs = Math.max(this.#dispatchedMs, Math.min(this.#firstStartMs + waitedMs, latestMs));
  }

  /** Hands on the line with this index, unless an earlier start wrote it. */
  protected logLine(index: number, line: string): void {
    if (index < this.#logged) return;
    this.#logged = index + 1;
    this.job.onLog(line);
  }

  protected settle(
    outcome: CallReply["outcome"],
    { cpuMs, heapBytes, logs, dropped, heard }: CallUsage,
    nowMs: number,
  ): void {
    if (this.isOver) return;
    this.isOver = true;
    const { attempts } = this;
    const startMs = this.#firstStartMs ?? nowMs;
    const [waitedMs, wallMs] = [startMs - this.#dispatchedMs, nowMs - startMs];
    const reply = { outcome, cpuMs, waitedMs, wallMs, heapBytes, attempts, logs, dropped, heard };
    this.onEnd?.(reply);
    this.job.settle(reply);
  }
}
