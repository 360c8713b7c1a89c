import type { DoneMessage, Failure } from "../../base/protocol/messages.ts";
import type { Job, Reply } from "../executor.ts";
import type { WorkerConnection } from "./worker-connection.ts";

/** A job between its dispatch and its reply. It is settled once, whatever happens to its workers. */
export class DispatchedCall {
  readonly job: Job;
  /** The job's number when it was dispatched: a job that is tried again has another one. */
  readonly run: number;
  lane: WorkerConnection | null = null;
  attempts = 0;
  /** When it ends whatever happens: for its worker's turn while it waits, and then for its own. */
  deadlineMs: number;
  /** Whether it shares its turn with no others: a turn, an isolate or a worker was lost under it. */
  alone = false;
  #isolatesLost = 0;
  #losses = 0;
  #isLost = false;
  /** Whether it has asked for something since its last start. */
  hasAsked = false;
  /** Log lines of this start, and of all. */
  #written = 0;
  #told = 0;
  #kills = 0;
  isOver = false;
  /** The call's clock at its first start, since the epoch: the same again in every further attempt. */
  nowMs = 0;
  readonly #adoptedMs: number;
  /** When it was first sent. */
  #startMs: number | null = null;
  /** Hears of the reply before the job does. */
  onEnd: ((reply: Reply) => void) | null = null;

  constructor(job: Job, nowMs: number) {
    this.job = job;
    this.run = job.run;
    this.#adoptedMs = nowMs;
    this.deadlineMs = nowMs + job.waitMs;
    // What it was answered elsewhere is answered again, in an order that only a message of its own can hold.
    this.alone = job.isResumed === true;
  }

  /** It goes to a worker: its own time begins. */
  start(lane: WorkerConnection, nowMs: number): void {
    this.lane = lane;
    this.attempts++;
    this.#written = 0;
    this.hasAsked = false;
    this.deadlineMs = nowMs + this.job.limits.wallMs;
    if (this.#startMs !== null) return;
    this.#startMs = nowMs;
    this.nowMs = this.job.nowMs ?? Date.now();
    this.job.onStart?.(nowMs, this.nowMs);
  }

  /** It was sent and did not have its turn: that was no attempt, unless it has asked, and it waits again. */
  takeBack(nowMs: number): void {
    this.lane = null;
    // What it was answered is answered again, in an order that only a message of its own can hold.
    if (this.hasAsked) this.alone = true;
    else this.attempts--;
    this.deadlineMs = nowMs + this.job.limits.queueMs;
  }

  /** Hands on a line as it is written. What earlier starts wrote comes again, and has been told. */
  log(line: string): void {
    if (++this.#written <= this.#told) return;
    this.#told = this.#written;
    this.job.onLog(line);
  }

  /** Another call ended the isolate that it was in. */
  loseIsolate(): void {
    this.#isolatesLost++;
  }

  /** It lost its executor; answers how often that was nobody's fault that is known. */
  noteLoss(isInnocent: boolean): number {
    this.#isLost = true;
    if (!isInnocent) this.#losses++;
    return this.#losses;
  }

  /** Somebody killed its executor during its turn. Once is chance; more often it may be why: what takes too much memory. */
  noteKilled(): boolean {
    return ++this.#kills > 1;
  }

  /** One loss may be bad luck. After the second it shares its isolate with none of the tool's other calls. */
  get ownIsolate(): boolean {
    return this.#isolatesLost >= 2;
  }

  /** It lost its executor: it waits for another, gets all of its time again, and shares no turn any more. */
  startAgain(nowMs: number): void {
    this.lane = null;
    this.alone = true;
    this.deadlineMs = nowMs + this.job.limits.queueMs;
  }

  /** Why it ends at its deadline: it may never have run, which is nothing that its tool could mend. */
  get overdue(): Failure {
    const { wallMs, queueMs } = this.job.limits;
    if (this.lane !== null) return { code: "wall_limit", message: `the call took longer than ${wallMs} ms` };
    const waited = `waited longer than ${queueMs} ms for a worker`;
    return this.#isLost
      ? { code: "executor_lost", message: `the call lost its executor and ${waited}` }
      : { code: "queue_timeout", message: `the call ${waited}` };
  }

  /** Ends with what the call's only turn came to: `+` and the output's JSON, or a failure. */
  conclude(outcome: string, failure: Failure | null, cpuMs: number, heapBytes: number, nowMs: number): void {
    const ended =
      failure === null ? ({ ok: true, json: outcome.slice(1) } as const) : ({ ok: false, failure } as const);
    this.#settle(ended, { cpuMs, heapBytes, logs: "", dropped: 0, heard: 0 }, nowMs);
  }

  finish(done: DoneMessage, failure: Failure | null): void {
    const ended = failure === null ? ({ ok: true, json: done.payload } as const) : ({ ok: false, failure } as const);
    this.#settle(ended, done, performance.now());
  }

  fail(failure: Failure, cpuMs = 0): void {
    this.#settle({ ok: false, failure }, { cpuMs, heapBytes: 0, logs: "", dropped: 0 }, performance.now());
  }

  #settle(
    outcome: Reply["outcome"],
    { cpuMs, heapBytes, logs, dropped, heard }: Pick<Reply, "cpuMs" | "heapBytes" | "logs" | "dropped" | "heard">,
    nowMs: number,
  ): void {
    if (this.isOver) return;
    this.isOver = true;
    const { attempts } = this;
    const startMs = this.#startMs ?? nowMs;
    const [waitedMs, wallMs] = [startMs - this.#adoptedMs, nowMs - startMs];
    const reply = { outcome, cpuMs, waitedMs, wallMs, heapBytes, attempts, logs, dropped, heard };
    this.onEnd?.(reply);
    this.job.settle(reply);
  }
}
