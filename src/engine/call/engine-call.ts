import { ChildBudget } from "./child-budget.ts";
import { concludeCall } from "./call-conclusion.ts";
import type { Grants } from "../../broker/grants.ts";
import type { BrokeredCall } from "../../broker/capability-invoker.ts";
import type { CallSession } from "../../broker/call-session.ts";
import { describeFailure, type FailedCall, FELL_BEHIND, IN_VAIN, MAY_BE_BEHIND, spentBy } from "./call-failure.ts";
import type { CalledToolResult } from "../../broker/capabilities/capability.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import type {
  CallReply,
  CapabilityCall,
  CapabilityResponse,
  Diverged,
  Executor,
  FleetTerms,
  Job,
  JobReplay,
} from "../../executor/executor.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { Limits } from "../../base/limits.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import { emptyMetadata, failure, type Progress, type ToolResult } from "../../base/result.ts";
import type { QueueEntry, Slot } from "../schedule/entry.ts";
import type { Refusal } from "../schedule/refusal.ts";
import type { LedgerClaim, LedgerClaimOf } from "../../base/ledger-claim.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import { markOf } from "../../tool/tool-mark.ts";
import type { CallTrace } from "../telemetry/tracing.ts";

/** What calls need of their engine. */
export interface CallHost {
  readonly executor: Executor;
  readonly broker: CallBroker;
  nextRun(): number;
  /** Runs a tool on a call's behalf. */
  callTool(
    parent: EngineCall,
    name: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<CalledToolResult>;
  /** The result with a recording of the call in its metadata. */
  record(call: EngineCall, result: ToolResult): ToolResult;
  onEnd(call: EngineCall, result: ToolResult): void;
}

/** Who answers what calls ask of the world. */
export interface CallBroker {
  /** What the policy in force gives. */
  readonly grants?: Grants;
  /** `grants`: what was in force when the call began. */
  open(subject: BrokeredCall, grants: Grants | undefined): CallSession;
}

/** What is known of a call when it is admitted. */
export interface AdmittedCall {
  readonly callId: string;
  readonly tool: RegisteredTool;
  /** The arguments as JSON. */
  readonly args: string;
  readonly command?: string | undefined;
  readonly limits: Limits;
  readonly options: ExecuteOptions;
  /** The call on whose behalf it is made. */
  readonly parent: EngineCall | null;
  /** What its clock shows at its start. Default: the time. */
  readonly nowMs?: number;
  /** Who answers it, where that is known before it asks. */
  readonly session?: CallSession;
}

/**
 * One call on its way through the engine: the entry that waits for a slot, the job that an executor runs, and the
 * result that comes of it. Each stage hands it on to the next, and whatever happens it ends once.
 */
export class EngineCall implements QueueEntry, Job, JobReplay, FleetTerms {
  /** A number of its own for each try: what is still said of an earlier one is not of this. */
  run: number;
  readonly callId: string;
  readonly tool: RegisteredTool;
  readonly tenant: string;
  readonly args: string;
  readonly command: string | undefined;
  readonly limits: Limits;
  readonly options: ExecuteOptions;
  readonly parent: EngineCall | null;
  readonly nowMs: number | undefined;
  /** Its spans, where somebody wants them. */
  trace: CallTrace | null = null;
  /** What another process has to know to say how it ended, where its key is in a ledger that others can reach. */
  ticketOf: LedgerClaimOf | null = null;
  #allowance: ChildBudget | null = null;
  readonly #host: CallHost;
  #session: CallSession | null = null;
  /** What the policy gave when it left the queue: a policy that comes later is not for it. */
  #grants: Grants | undefined = undefined;
  #slot: Slot | null = null;
  #cancel: (() => void) | null = null;
  /** When it first went to a worker. */
  #startMs: number | null = null;
  /** What its clock showed then. */
  clockMs = 0;
  #queueMs = 0;
  /** Starts of earlier tries, and how many of those there were. */
  #attempts = 0;
  #retries = 0;
  /** Effects of earlier tries. */
  #effects = 0;
  /** How far it has come, as far as its caller was told. */
  #progress = Number.NEGATIVE_INFINITY;
  #resolve: (result: ToolResult) => void = () => undefined;

  constructor({ callId, tool, args, command, limits, options, parent, nowMs, session }: AdmittedCall, host: CallHost) {
    this.run = host.nextRun();
    this.callId = callId;
    this.tool = tool;
    this.tenant = options.tenant ?? "";
    this.args = args;
    this.command = command;
    this.limits = limits;
    this.options = options;
    this.parent = parent;
    this.nowMs = nowMs;
    this.#session = session ?? null;
    this.#host = host;
  }

  /** Who is told the result. */
  set onResult(resolve: (result: ToolResult) => void) {
    this.#resolve = resolve;
  }

  get script(): ToolScript {
    return this.tool.script;
  }

  get waitMs(): number {
    return Math.max(0, this.limits.queueMs - this.#queueMs);
  }

  get priority(): number | undefined {
    return this.options.priority;
  }

  get replay(): JobReplay {
    return this;
  }

  get fleet(): FleetTerms {
    return this;
  }

  get stream(): boolean {
    return this.options.onLog !== undefined || this.options.onProgress !== undefined;
  }

  /** A further try is its server's alone: what earlier ones did, nobody else knows. */
  get ticket(): LedgerClaim | undefined {
    if (this.ticketOf === null || this.#retries > 0) return undefined;
    return this.ticketOf(markOf(this.tool)) ?? undefined;
  }

  ask(call: CapabilityCall): Promise<CapabilityResponse | Diverged> {
    const session = this.#open();
    if (this.trace === null) return session.invoke(call);
    return this.trace.ask(call, session.journal.find(call.step) !== undefined, () => session.invoke(call));
  }

  #open(): CallSession {
    this.#session ??= this.#host.broker.open(
      {
        callId: this.callId,
        parentId: this.parent?.callId,
        tool: this.tool.info.name,
        tags: this.tool.info.tags,
        tenant: this.tenant,
        requested: this.tool.capabilities,
        narrowed: this.options.capabilities,
        limits: this.limits,
        binary: this.script.runtime === "native" ? { hash: this.script.text, limits: this.limits } : undefined,
        callTool: (name, args, signal) => this.#host.callTool(this, name, args, signal),
        onOutcome: this.options.onCapability && ((event) => this.#tell(() => this.options.onCapability?.(event))),
      },
      this.#grants,
    );
    return this.#session;
  }

  plan(): string {
    return this.#session?.journal.plan() ?? "";
  }

  onTimed(step: number, nowMs: number): void {
    this.#session?.journal.recordTime(step, nowMs);
  }

  onStart(startMs: number, nowMs: number): void {
    this.#startMs = startMs;
    this.clockMs = nowMs;
    this.trace?.start(startMs);
  }

  onRestart(attempts: number): void {
    this.trace?.note("glovebox.restart", { "glovebox.attempts": attempts });
  }

  /** What it has for calls on its behalf. */
  get allowance(): ChildBudget {
    return (this.#allowance ??= new ChildBudget(this.limits.cpuMs, this.parent?.allowance ?? null));
  }

  /** What is left of its time, for one more call on its behalf. */
  left(): Pick<Limits, "wallMs" | "cpuMs"> {
    const passedMs = this.#startMs === null ? 0 : performance.now() - this.#startMs;
    return { wallMs: Math.floor(this.limits.wallMs - passedMs), cpuMs: this.allowance.leftMs };
  }

  start(slot: Slot, queueMs: number): void {
    this.#slot = slot;
    this.#queueMs = queueMs;
    this.#grants = this.#host.broker.grants;
    const { signal } = this.options;
    if (signal !== undefined) {
      this.#cancel = () => this.#host.executor.cancel(this.run, "cancelled", "the call was cancelled while it ran");
      signal.addEventListener("abort", this.#cancel, { once: true });
    }
    this.#host.executor.run(this);
  }

  /** The call did not run. */
  refuse({ code, message, retryAfterMs, queueMs }: Refusal): void {
    this.fail(toolError(code, message, retryAfterMs === undefined ? undefined : { retryAfterMs }), queueMs);
  }

  /** Ends the call without a reply. */
  fail(error: ToolError, queueMs: number): void {
    this.#end(failure(error, emptyMetadata(this.callId, this.tool.info.name, queueMs)));
  }

  /** Takes what came of it; or runs again, where it failed in a way that may pass and its tool asks for retries. */
  settle(given: CallReply): void {
    this.#session?.[Symbol.dispose]();
    if (given.heard !== undefined) this.#session?.journal.endAfter(given.heard);
    const reply = this.#fellBehind(given) ? { ...given, outcome: FELL_BEHIND } : given;
    const { outcome, attempts } = reply;
    if (this.options.onCpu !== undefined) this.#tell(() => this.options.onCpu?.(spentBy(given, this.limits)));
    if (!outcome.ok && this.#mayRetry(outcome.failure)) {
      this.trace?.note("glovebox.retry", { "error.type": outcome.failure.code });
      this.#attempts += attempts;
      this.#retries++;
      this.#queueMs += reply.waitedMs;
      this.#effects += this.#session?.effects ?? 0;
      // A capability that failed is asked again, and not the journal for its old answer.
      this.#session = null;
      this.#allowance = null;
      this.run = this.#host.nextRun();
      this.#host.executor.run(this);
      return;
    }
    if (this.#cancel !== null) this.options.signal?.removeEventListener("abort", this.#cancel);
    // The slot is free before the caller hears of the result, so a caller who calls again finds it.
    this.#slot?.release();
    const { callId, command, limits } = this;
    const ended = { callId, command, limits, queueMs: this.#queueMs, attempts: this.#attempts };
    const result = concludeCall(reply, { ...ended, ...this.#failed });
    this.#end(this.options.record === true ? this.#host.record(this, result) : result);
  }

  /** What its last run asked, and was answered. */
  get session(): Pick<CallSession, "journal" | "lastRefusal"> | null {
    return this.#session;
  }

  /** Whether the tool came to an end without all the effects that an earlier start of it had. */
  #fellBehind({ outcome, attempts }: CallReply): boolean {
    if (!outcome.ok && !MAY_BE_BEHIND.has(outcome.failure.code)) return false;
    return this.#session?.isBehind(attempts) ?? false;
  }

  #mayRetry(failure: Failure): boolean {
    const { retryOn } = this.tool;
    const retries = this.options.retries ?? this.tool.retries;
    if (this.#retries >= retries || this.options.signal?.aborted === true || IN_VAIN.has(failure.code)) return false;
    if (this.#describe(failure).retryable) return true;
    return retryOn === "failure" && failure.code === "tool_error" && this.#mayRepeat;
  }

  /** Whether nothing has been done yet, or may be done twice: a tool that failed by itself is asked for the same again. */
  get #mayRepeat(): boolean {
    const isIdempotent = this.tool.info.annotations.idempotent === true || this.options.idempotencyKey !== undefined;
    return isIdempotent || this.#effects + (this.#session?.effects ?? 0) === 0;
  }

  #end(result: ToolResult): void {
    this.#host.onEnd(this, result);
    this.#resolve(result);
  }

  onLog(line: string): void {
    const [level = "log", message = ""] = JSON.parse(line) as [string?, string?];
    this.#tell(() => this.options.onLog?.({ level, message: this.tool.redactor?.text(message) ?? message }));
  }

  /** What goes back is not told: a call that starts again says once more what it has said before. */
  onProgress({ message, ...progress }: Progress): void {
    if (progress.progress < this.#progress) return;
    this.#progress = progress.progress;
    const said = message === undefined ? {} : { message: this.tool.redactor?.text(message) ?? message };
    this.#tell(() => this.options.onProgress?.({ ...progress, ...said }));
  }

  #tell(tell: () => void): void {
    try {
      tell();
    } catch {
      // A listener's exception is not the call's.
    }
  }

  #describe(failure: Failure): ToolError {
    return describeFailure(failure, this.#failed);
  }

  get #failed(): FailedCall {
    const { tool, tenant } = this;
    return {
      tool,
      lastRefusal: this.#session?.lastRefusal ?? null,
      effects: this.#effects + (this.#session?.effects ?? 0),
      refusedForMs: () => this.#host.executor.refusedForMs(tool.info.name, tenant),
    };
  }
}
