import { ProtocolError } from "../../base/protocol/wire.ts";
import { readProgress } from "../../base/protocol/payload.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import type { MachineMessage, Resumption } from "../wire/messages.ts";
import { isFailure, readLines } from "../wire/read-message.ts";
import { CONTINUATIONS_MAX } from "../../base/protocol/capability-call.ts";
import type { LedgerClaim } from "../../base/ledger-claim.ts";
import type { CallReply, CapabilityResponse, Diverged, Job } from "../../executor/executor.ts";
import { DispatchedCall } from "../../executor/dispatch/dispatched-call.ts";
import type { FleetJob } from "./fleet-job.ts";

/** A worker lets through what is just too much, so that its tool is told. */
const ONE_MORE = 2;
const ARGS_MORE = 1024 * 1024;
/** Time for a reply on its way after the call's limits, before the call ends. */
const LATE_MS = 2_000;

/** A call that a machine of the fleet runs. */
export class FleetCall extends DispatchedCall {
  readonly isInspection: boolean;
  /** The message that carries it to a machine, once it is sent. */
  carrier: FleetJob | null = null;
  /** Starts on machines that it has left. */
  #before = 0;
  #losses = 0;
  #asked = 0;
  /** Responses of this start, by step. */
  #answers: Map<number, Promise<CapabilityResponse | Diverged>> | null = null;
  #answering = 0;

  constructor(job: Job, nowMs: number, isInspection = false) {
    super(job, nowMs);
    this.isInspection = isInspection;
    this.nowMs = job.replay?.nowMs ?? Date.now();
  }

  /** Only of one that is sent for the first time: of another nobody but its server knows what it has done. */
  get ticket(): LedgerClaim | undefined {
    return this.#losses === 0 ? this.job.fleet?.ticket : undefined;
  }

  /** A machine has it: its own time begins, and that for which it may wait there. */
  take(nowMs: number): void {
    this.#before = this.attempts;
    this.attempts++;
    this.giveTime(nowMs);
    this.recordStart(nowMs);
  }

  /** A machine has it, from now on as far as anybody knows. */
  giveTime(nowMs: number): void {
    const { wallMs, queueMs } = this.job.limits;
    this.deadlineMs = nowMs + queueMs + wallMs + LATE_MS;
  }

  /** Its machine is gone: it waits for another. Answers how often that has happened. */
  lose(nowMs: number): number {
    this.deadlineMs = nowMs + this.job.limits.queueMs;
    return ++this.#losses;
  }

  /** The state that another machine needs to resume the call. */
  get resumption(): Resumption {
    return { run: this.run, attempts: this.#before, asked: this.#asked, plan: this.job.replay?.plan() ?? "" };
  }

  /** Its machine lost the executor that ran it, and starts it again there. */
  restart(attempts: number): void {
    this.attempts = this.#before + attempts + 1;
    this.job.onRestart?.(this.#before + attempts);
  }

  /**
   * What its machine asks. A message may be lost, so a machine asks again: that has one answer. What comes after
   * an ask that is still missing has none, and comes again as well.
   */
  ask(asked: Extract<MachineMessage, { readonly kind: "ask" }>): Promise<CapabilityResponse | Diverged> | null {
    const { step, attempt, nowMs, heard, capability, method, args } = asked;
    if (step > this.#asked + 1 || this.#isTooMuch(asked)) return null;
    if (attempt !== this.#answering || this.#answers === null) this.#answers = new Map();
    this.#answering = attempt;
    const known = this.#answers.get(step);
    if (known !== undefined) return known;
    this.#asked = Math.max(this.#asked, step);
    this.attempts = Math.max(this.attempts, attempt);
    const more = heard === undefined ? {} : { heard };
    const answer = this.job.ask({ step, attempt, nowMs, ...more, capability, method, args });
    this.#answers.set(step, answer);
    return answer;
  }

  /** Lines from that with this number on. What earlier starts wrote comes again, and has been told. */
  log(at: number, lines: readonly string[]): void {
    for (const [nth, line] of lines.entries()) this.logLine(at + nth, line);
  }

  progress(payload: string): void {
    this.job.onProgress?.(readProgress(payload));
  }

  /** More, and longer, than any worker lets a call ask: it comes from no machine of ours, and is not kept. */
  #isTooMuch({ step, args }: { readonly step: number; readonly args: string }): boolean {
    const { capabilityCalls, capabilityBytes } = this.job.limits;
    return step > capabilityCalls + CONTINUATIONS_MAX + ONE_MORE || args.length > 2 * capabilityBytes + ARGS_MORE;
  }

  get overdue(): Failure {
    const { queueMs } = this.job.limits;
    const waited = `waited longer than ${queueMs} ms for a worker machine`;
    if (this.carrier?.isHeard === true) {
      return {
        code: "executor_lost",
        message: "the worker machine that runs the call has sent nothing until its deadline",
      };
    }
    if (this.#losses > 0) return { code: "executor_lost", message: `the call lost its worker machine and ${waited}` };
    return { code: "queue_timeout", message: `the call ${waited}` };
  }

  /** Ends with what its machine says. Throws where that cannot be read. */
  finish(reply: CallReply, nowMs: number): void {
    const { outcome, logs, waitedMs, wallMs } = reply;
    if (!outcome.ok && !isFailure(outcome.failure)) throw new ProtocolError("a reply with an invalid failure");
    // The last log lines may have waited on the machine.
    if (this.job.stream) this.log(0, readLines(logs));
    this.attempts = this.#before + reply.attempts;
    // On its machine it may have waited once more before it started; and that it was taken may be heard as late as that it has ended.
    this.correctStart(waitedMs, nowMs - wallMs);
    this.settle(outcome, reply, nowMs);
  }
}
