import type { DoneMessage, Failure } from "../protocol/messages.ts";
import type { Job, Reply } from "./executor.ts";
import type { Lane } from "./lane.ts";

/** A job between its dispatch and its reply. It is settled once, whatever happens to its workers. */
export class Flight {
  readonly job: Job;
  lane: Lane | null = null;
  attempts = 0;
  deadlineMs = 0;
  /** The call's clock at its first start: the same again in every further attempt. */
  readonly nowMs: number;
  readonly #startMs: number;
  readonly #resolve: (reply: Reply) => void;

  constructor(job: Job, nowMs: number, startMs: number, resolve: (reply: Reply) => void) {
    this.job = job;
    this.nowMs = nowMs;
    this.#startMs = startMs;
    this.#resolve = resolve;
  }

  finish(done: DoneMessage, failure: Failure | null): void {
    this.#resolve({
      outcome: failure === null ? { ok: true, json: done.payload } : { ok: false, failure },
      cpuMs: done.cpuMs,
      wallMs: performance.now() - this.#startMs,
      heapBytes: done.heapBytes,
      attempts: this.attempts,
      logs: done.logs,
      dropped: done.dropped,
    });
  }

  fail(failure: Failure, cpuMs = 0): void {
    this.#resolve({
      outcome: { ok: false, failure },
      cpuMs,
      wallMs: performance.now() - this.#startMs,
      heapBytes: 0,
      attempts: this.attempts,
      logs: "",
      dropped: 0,
    });
  }
}
