import { ProtocolError } from "../../kernel/base/protocol/wire.ts";
import { readProgress } from "../../kernel/base/protocol/payload.ts";
import type { Failure } from "../../kernel/base/protocol/messages.ts";
import type { MachineMessage, Resumption } from "../wire/messages.ts";
import { isFailure, readLines } from "../wire/read-message.ts";
import { CONTINUATIONS_MAX } from "../../kernel/base/protocol/capability-call.ts";
import type { LedgerClaim } from "../../kernel/base/ledger-claim.ts";
import {
  type CallReply,
  type CapabilityResponse,
  type Diverged,
  type Job,
  outputOf,
} from "../../kernel/executor/executor.ts";
import { DispatchedCall } from "../../kernel/executor/dispatch/dispatched-call.ts";
import type { FleetJob } from "./fleet-job.ts";

/**
 * Steps and bytes beyond the limits: a worker forwards the first call over a limit, so that its tool gets the error.
 */
const ONE_MORE = 2;
const ARGS_MORE = 1024 * 1024;
/** Extra time for a reply in transit after the call's limits, before the call ends. */
const LATE_MS = 2_000;

/** A call that runs on a machine of the fleet. */
export class FleetCall extends DispatchedCall {
  readonly isInspection: boolean;
  /** The job that carries the call to a machine; `null` before it is sent. */
  carrier: FleetJob | null = null;
  /** Whether its machine is to report when it only waits. */
  isWatched = false;
  /** Number of attempts on earlier machines. */
  #before = 0;
  #losses = 0;
  #asked = 0;
  /** Responses of the current attempt, by step. */
  #answers: Map<number, Promise<CapabilityResponse | Diverged>> | null = null;
  #answering = 0;

  constructor(job: Job, nowMs: number, isInspection = false) {
    super(job, nowMs);
    this.isInspection = isInspection;
    this.nowMs = job.replay?.nowMs ?? Date.now();
  }

  /** Only on the first send: after a loss only the call's own server knows which effects happened. */
  get claim(): LedgerClaim | undefined {
    return this.#losses === 0 ? this.job.fleet?.claim : undefined;
  }

  /** Whether it continues an earlier run: on another machine, or before a pause. */
  get isResumed(): boolean {
    return this.attempts > 0 || this.job.replay?.isResumed === true;
  }

  /** A machine has taken the call: its queue and wall time begin. */
  take(nowMs: number): void {
    this.#before = this.attempts;
    this.attempts++;
    this.giveTime(nowMs);
    this.recordStart(nowMs);
  }

  /** Restarts the deadline: the call is on a machine, by this server's information. */
  giveTime(nowMs: number): void {
    const { wallMs, queueMs } = this.job.limits;
    this.deadlineMs = nowMs + queueMs + wallMs + LATE_MS;
  }

  /** The call's machine is lost; the call waits for another one. Returns the number of losses. */
  lose(nowMs: number): number {
    this.deadlineMs = nowMs + this.job.limits.queueMs;
    return ++this.#losses;
  }

  /** The state that another machine needs to resume the call. */
  get resumption(): Resumption {
    return {
      callNumber: this.callNumber,
      attempts: this.#before,
      asked: this.#asked,
      plan: this.job.replay?.plan() ?? "",
    };
  }

  /** The call's machine lost the executor that ran the call and starts it again there. */
  restart(attempts: number): void {
    this.attempts = this.#before + attempts + 1;
    this.job.onRestart?.(this.#before + attempts);
  }

  /**
   * Runs a capability call of the call's machine. The machine repeats requests because messages can be lost; a repeated
   * step gets the same response. Returns `null` for a step after a missing one, which the machine repeats too, and for
   * an excessive request.
   */
  ask(asked: Extract<MachineMessage, { readonly kind: "ask" }>): Promise<CapabilityResponse | Diverged> | null {
    const { step, attempt, nowMs, deliveredCount, capability, method, args } = asked;
    if (step > this.#asked + 1 || this.#isTooMuch(asked)) return null;
    if (attempt !== this.#answering || this.#answers === null) this.#answers = new Map();
    this.#answering = attempt;
    const known = this.#answers.get(step);
    if (known !== undefined) return known;
    this.#asked = Math.max(this.#asked, step);
    this.attempts = Math.max(this.attempts, attempt);
    const more = deliveredCount === undefined ? {} : { deliveredCount };
    const { promise, resolve } = Promise.withResolvers<CapabilityResponse | Diverged>();
    this.#answers.set(step, promise);
    this.job.ask({ step, attempt, nowMs, ...more, capability, method, args }, resolve);
    return promise;
  }

  /** Whether the call's machine may not know about the watch: it has restarted the call, or repeats a request. */
  mayMissWatch({ step, attempt }: Extract<MachineMessage, { readonly kind: "ask" }>): boolean {
    return this.isWatched && (attempt !== this.#answering || this.#answers?.has(step) === true);
  }

  /** Log lines from index `at` on. A new attempt repeats the lines of earlier ones; those were emitted before. */
  log(at: number, lines: readonly string[]): void {
    for (const [nth, line] of lines.entries()) this.logLine(at + nth, line);
  }

  progress(payload: string): void {
    this.job.onProgress?.(readProgress(payload));
  }

  /**
   * Whether a request exceeds the limits that workers enforce: no machine of the fleet sends it, so it is not stored.
   */
  #isTooMuch({ step, args }: { readonly step: number; readonly args: string }): boolean {
    const { capabilityCalls, capabilityBytes } = this.job.limits;
    return step > capabilityCalls + CONTINUATIONS_MAX + ONE_MORE || args.length > 2 * capabilityBytes + ARGS_MORE;
  }

  get overdue(): Failure {
    const { queueMs } = this.job.limits;
    const waited = `waited longer than ${queueMs} ms (limits.queueMs) for a worker machine`;
    if (this.carrier?.isHeard === true) {
      return {
        code: "executor_lost",
        message: "the worker machine that runs the call has sent nothing until its deadline",
      };
    }
    if (this.#losses > 0) return { code: "executor_lost", message: `the call lost its worker machine and ${waited}` };
    return { code: "queue_timeout", message: `the call ${waited}` };
  }

  /**
   * Ends the call with its machine's reply. `work`: that of a machine that still works. Throws if the reply cannot be
   * read.
   */
  finish(reply: CallReply, nowMs: number, work?: Promise<number>): void {
    const { outcome, logs, waitedMs, wallMs } = reply;
    if (!outcome.ok && !isFailure(outcome.failure)) throw new ProtocolError("a reply with an invalid failure");
    // The last log lines may have been buffered on the machine.
    if (this.job.stream) this.log(0, readLines(logs));
    this.attempts = this.#before + reply.attempts;
    // The call may have waited again on the machine before it started, and `taken` may arrive as late as `done`.
    this.correctStart(waitedMs, nowMs - wallMs);
    this.settle(outcome.ok ? outputOf(outcome.json) : outcome, reply, nowMs, work);
  }
}
