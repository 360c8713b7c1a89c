import { ERRORS } from "../../kernel/base/errors.ts";
import type {
  CallIdle,
  CallReply,
  CapabilityCall,
  CapabilityResponse,
  Diverged,
  Job,
  JobReplay,
  Respond,
} from "../../kernel/executor/executor.ts";
import type { FleetCallData, FleetLimits, MachineMessage, Resumption } from "../wire/messages.ts";
import type { ToolScript, ToolVersion } from "../../kernel/base/protocol/script.ts";
import type { Progress } from "../../kernel/base/result.ts";
import { DeliveredResponses } from "./delivered-responses.ts";
import type { CallEnd, KeptCall } from "./keyed-calls.ts";
import { LogLines } from "./log-lines.ts";

/** The job of a call on this machine. */
export interface MachineCallHost {
  readonly id: string;
  /** Attempt number of this job, starting at 1. */
  readonly start: number;
  /** Sends a message to the call's server. */
  send(message: MachineMessage): void;
  /** The call starts or stops waiting for its server; while it waits it needs no slot. */
  onWait(isWaiting: boolean): void;
  /** Milliseconds for which the executor refuses a tool's calls for a tenant. */
  refusedForMs(tool: ToolVersion, tenant: string): number;
  /** The call's server is lost, and the call makes a capability call. */
  onOrphanRequest(call: MachineCall): void;
  /** `end`: the result for other servers, if the call's server is lost before it has received it. */
  onEnd(call: MachineCall, end: CallEnd | null): void;
}

/** A call as its machine receives it. */
export interface IncomingCall {
  readonly data: FleetCallData;
  readonly script: ToolScript;
  readonly limits: FleetLimits;
  /** The server's state of earlier attempts. */
  readonly resumption: Resumption | undefined;
  /** The registration under which the result is kept; `null` for a call without a key. */
  readonly kept: KeptCall | null;
}

interface PendingCapabilityCall {
  readonly message: MachineMessage;
  readonly respond: Respond;
  /** Number of checks without a response. */
  looks: number;
}

/** A server's call as a job of this machine's executor; the server answers its capability calls. */
export class MachineCall implements Job, JobReplay {
  /** Its number on this machine. */
  readonly callNumber: number;
  readonly script: ToolScript;
  readonly limits: FleetLimits;
  readonly data: FleetCallData;
  readonly isResumed: boolean;
  readonly kept: KeptCall | null;
  readonly #before: number;
  readonly #host: MachineCallHost;
  readonly #delivered: DeliveredResponses;
  #lines: LogLines | null = null;
  /** Capability calls without a response, by attempt and step. */
  readonly #pending = new Map<string, PendingCapabilityCall>();
  #isWaiting = false;
  #isOrphan = false;
  isOver = false;

  constructor(callNumber: number, { data, script, limits, resumption, kept }: IncomingCall, host: MachineCallHost) {
    this.callNumber = callNumber;
    this.script = script;
    this.limits = limits;
    this.data = data;
    this.isResumed = resumption !== undefined;
    this.#before = resumption?.attempts ?? 0;
    this.#delivered = new DeliveredResponses(resumption?.asked ?? 0, resumption?.plan ?? "");
    this.kept = kept;
    this.#host = host;
  }

  get tenant(): string {
    return this.data.tenant;
  }

  get callId(): string {
    return this.data.callId;
  }

  get args(): string {
    return this.data.args;
  }

  get command(): string | undefined {
    return this.data.command;
  }

  get seed(): string {
    return this.data.seed;
  }

  get nowMs(): number {
    return this.data.nowMs;
  }

  get replay(): JobReplay {
    return this;
  }

  get stream(): boolean {
    return this.data.stream;
  }

  get waitMs(): number {
    return this.limits.queueMs;
  }

  ask(asked: CapabilityCall, respond: Respond): void {
    const { step, deliveredCount } = asked;
    const attempt = this.#before + asked.attempt;
    this.#delivered.recordRequest(step, deliveredCount);
    const message = {
      kind: "ask",
      callNumber: this.data.callNumber,
      start: this.#host.start,
      job: this.#host.id,
      ...asked,
      attempt,
    } as const;
    if (this.#isOrphan) setImmediate(() => this.#host.onOrphanRequest(this));
    else this.#host.send(message);
    this.#pending.set(`${attempt} ${step}`, { message, respond, looks: 0 });
    this.#updateWait();
  }

  /** Delivers the server's response to a capability call. */
  respond(attempt: number, step: number, answer: CapabilityResponse | Diverged): void {
    const key = `${attempt} ${step}`;
    const asked = this.#pending.get(key);
    if (asked === undefined) return;
    this.#pending.delete(key);
    if (answer.kind !== "diverged") this.#delivered.recordResponse(attempt, step, answer.nowMs);
    this.#updateWait();
    asked.respond(answer);
  }

  /**
   * Repeats capability calls without a response, because envelopes can be lost. Backs off exponentially: most handlers
   * are only slow.
   */
  repeatCapabilityCalls(): void {
    this.#lines?.look();
    for (const asked of this.#pending.values()) {
      const looks = ++asked.looks;
      if (looks <= 1 || (looks & (looks - 1)) !== 0) continue;
      this.#host.send(asked.message);
    }
  }

  plan(): string {
    return this.#delivered.plan();
  }

  onTimed(step: number, nowMs: number): void {
    this.#delivered.recordTime(step, nowMs);
    this.#host.send({ kind: "timed", callNumber: this.data.callNumber, start: this.#host.start, step, nowMs });
  }

  onLate(fired: number, nowMs: number): void {
    this.#delivered.recordLate(fired, nowMs);
    this.#host.send({ kind: "late", callNumber: this.data.callNumber, start: this.#host.start, fired, nowMs });
  }

  onTogether(at: number, count: number): void {
    this.#delivered.recordTogether(at, count);
    this.#host.send({ kind: "together", callNumber: this.data.callNumber, start: this.#host.start, at, count });
  }

  onIdle(idle: CallIdle): void {
    this.#host.send({ kind: "idle", callNumber: this.data.callNumber, start: this.#host.start, ...idle });
  }

  onLog(line: string): void {
    const { callNumber } = this.data;
    this.#lines ??= new LogLines((some) =>
      this.#host.send({ kind: "log", callNumber, start: this.#host.start, ...some }),
    );
    this.#lines.add(line);
  }

  /** The server has received the log lines up to the bound. */
  logged(): void {
    this.#lines?.goOn();
  }

  onProgress({ progress, total, message }: Progress): void {
    const payload = JSON.stringify([progress, total ?? null, message ?? null]);
    this.#host.send({ kind: "progress", callNumber: this.data.callNumber, start: this.#host.start, payload });
  }

  onRestart(attempts: number): void {
    // Responses to an earlier attempt's capability calls are no longer needed.
    this.#pending.clear();
    this.#updateWait();
    this.#host.send({ kind: "restart", callNumber: this.data.callNumber, start: this.#host.start, attempts });
  }

  /** Takes the executor's reply. If the call's server has cancelled it, only its processor time is sent. */
  settle({ work, ...reply }: CallReply): void {
    if (work !== undefined) void work.then((cpuMs) => this.#sendSpent(cpuMs));
    else if (this.isOver) this.#sendSpent(reply.cpuMs);
    if (this.isOver) return;
    // The reply contains the waiting lines too, unless it was cut off.
    if (reply.logs === "") this.#lines?.sendRest();
    const isWorking = work === undefined ? null : ({ isWorking: true } as const);
    const done = {
      kind: "done",
      callNumber: this.data.callNumber,
      start: this.#host.start,
      reply,
      ...isWorking,
    } as const;
    const isRefused = !reply.outcome.ok && reply.outcome.failure.code === "tool_quarantined";
    const refusedForMs = isRefused ? this.#host.refusedForMs(this.script, this.tenant) : undefined;
    this.#host.send(refusedForMs === undefined ? done : { ...done, refusedForMs });
    this.#end(this.#endOf(reply));
  }

  #sendSpent(cpuMs: number): void {
    this.#host.send({ kind: "spent", callNumber: this.data.callNumber, start: this.#host.start, cpuMs });
  }

  /** Ends the call without a result. */
  end(): void {
    this.#end(null);
  }

  /**
   * The call's server is lost. Returns whether the call continues: then its result is kept, and it may make no further
   * capability calls.
   */
  orphan(): boolean {
    if (this.kept === null || this.#pending.size > 0) return false;
    this.#isOrphan = true;
    return true;
  }

  #end(end: CallEnd | null): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#pending.clear();
    this.#updateWait();
    this.#host.onEnd(this, end);
  }

  /** The result for other servers: `null` if only the call's own server knows which effects happened. */
  #endOf(reply: CallReply): CallEnd | null {
    if (this.kept === null) return null;
    const { outcome } = reply;
    const { hasAsked } = this.#delivered;
    const attempts = this.#before + reply.attempts;
    if (!outcome.ok && (attempts === 0 || ERRORS[outcome.failure.code].retryable))
      return hasAsked ? null : { kind: "undone" };
    // A restarted call may have made fewer capability calls than before, which only its journal shows.
    if (this.#pending.size > 0 || (hasAsked && attempts > 1)) return null;
    const { outputBytes } = this.limits;
    const left = { callId: this.callId, tool: this.kept.mark, outputBytes, reply: { ...reply, attempts } };
    return { kind: "left", left };
  }

  #updateWait(): void {
    const isWaiting = this.#pending.size > 0;
    if (isWaiting === this.#isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#host.onWait(isWaiting);
  }
}
