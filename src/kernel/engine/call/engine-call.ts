import type { AskLogging } from "../../broker/ask-log.ts";
import type { BrokeredCall } from "../../broker/brokered-call.ts";
import type { LastRefusal } from "../../broker/capability-invoker.ts";
import type { SessionEnd } from "../../broker/call-session.ts";
import type { Grants } from "../../broker/grants.ts";
import { type EngineSession, type HostedCall, JOURNAL_LOST } from "../../broker/thread/host-session.ts";
import type { Failure } from "../../base/errors.ts";
import type { Limits } from "../../base/limits.ts";
import { HostAccount } from "../../base/tenant-account.ts";
import type { BrokerClient } from "../../broker/thread/broker-client.ts";
import type { LedgerClaim, LedgerClaimOf } from "../../base/ledger-claim.ts";
import type { ChildReply, Diverged } from "../../base/protocol/capability-call.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import type { HostUse, Progress, ToolResult } from "../../base/result.ts";
import type {
  CallIdle,
  CallReply,
  CapabilityCall,
  FleetTerms,
  Job,
  JobChildren,
  JobReplay,
  Respond,
} from "../../executor/executor.ts";
import { fingerprintOf, type RegisteredTool } from "../../tool/registered-tool.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { QueueEntry, Refusal, Slot } from "../schedule/queue-entry.ts";
import type { Events } from "../telemetry/events.ts";
import type { CallTrace } from "../telemetry/tracing.ts";
import type { AbortGroup } from "./abort-group.ts";
import { type CallWaiting, type EarlierRun, keepOf } from "./call-waiting.ts";
import { ChildBudget } from "./child-budget.ts";

/** Pipeline stages to which a queue entry and a job pass their call. */
export interface CallStages {
  start(call: EngineCall, slot: Slot, queueMs: number): void;
  openSession(call: EngineCall): EngineSession;
  settle(call: EngineCall, reply: CallReply): void;
  /** Ends a running call. */
  stop(callNumber: number, failure: Failure): void;
  refuse(call: EngineCall, refusal: Refusal): void;
  /** Calls a listener among the call's options. A failure of it does not affect the call. */
  notify(option: string, listener: () => unknown): void;
}

/** A call that admission accepted. */
export interface AdmittedCall {
  readonly callId: string;
  readonly tool: RegisteredTool;
  /** The arguments as JSON. */
  readonly args: string;
  readonly command: string | undefined;
  readonly limits: Limits;
  readonly options: ExecuteOptions;
  /** The call on whose behalf it is made. */
  readonly parent: EngineCall | null;
  /** Its id, if that call is not in this process: this one has paused, and continues. */
  readonly parentCallId?: string | undefined;
}

/** Only a broken worker answers child calls for which the call has no tickets. */
const NOT_ITS_OWN: Diverged = { kind: "diverged", message: "the call's worker answered what the host has to answer" };

/** Parts of the engine for the broker's data about a call. */
interface BrokeredParts {
  readonly broker: Pick<BrokerClient, "accounts" | "binaryOf">;
  readonly events: Pick<Events, "isHeard">;
  readonly keeper: { loggingOf(call: EngineCall): AskLogging | undefined } | null;
}

/** A call's child calls that its worker may run itself, with the versions of their tools. */
export interface CallChildren extends JobChildren {
  readonly tools: ReadonlyMap<string, RegisteredTool>;
}

/** The state of one call, as the scheduler's queue entry and the executor's job see it. */
export class EngineCall implements QueueEntry, Job, JobReplay, FleetTerms {
  /** Number of the current attempt, unique in the engine: messages about an earlier attempt do not match it. */
  callNumber: number;
  readonly callId: string;
  readonly tool: RegisteredTool;
  readonly tenant: string;
  /** The arguments as JSON. Listeners of `tool:pre` may replace them. */
  args: string;
  readonly command: string | undefined;
  readonly limits: Limits;
  readonly options: ExecuteOptions;
  readonly parent: EngineCall | null;
  readonly parentCallId: string | null;
  /** Receives the result, once. */
  resolve: (result: ToolResult) => void = () => undefined;
  /** Spans of the call; `null` without a tracer. */
  trace: CallTrace | null = null;
  /** Creates the claim by which another process may store the result, if the call's key is in a shared ledger. */
  claimOf: LedgerClaimOf | null = null;
  session: EngineSession | null = null;
  /** The end of the session of the last attempt. */
  end: SessionEnd | null = null;
  /** The host's work for the call; `null` until it makes a capability call. */
  account: HostAccount | null = null;
  /** Grants in force when the call left the queue; a later policy does not change them. */
  grants: Grants | undefined = undefined;
  /** Whether it can only be granted handlers of this thread. */
  asksHost = false;
  /** Its child calls that its worker may run itself. */
  children: CallChildren | null = null;
  slot: Slot | null = null;
  /** Number of attempts whose workers still work after their replies. */
  lingering = 0;
  isSettled = false;
  /** Running calls with the same signal. */
  abortGroup: AbortGroup<EngineCall> | null = null;
  /** The call's clock at its first start. */
  clockMs = 0;
  queueMs = 0;
  /** Time of its acceptance, in milliseconds since the epoch, if calls are kept. */
  begunMs = 0;
  /** Whether its record includes its turns. */
  tellsTurns = false;
  /** Times of further starts, in milliseconds since the epoch; `null` for most calls. */
  #restartsMs: number[] | null = null;
  #hasBegun = false;
  /** Number of starts in earlier attempts, and number of those attempts. */
  attempts = 0;
  retries = 0;
  #startMs: number | null = null;
  #earlierEffects = 0;
  #toldHostMs = 0;
  #childBudget: ChildBudget | null = null;
  #plan = "";
  /** The worker's pipe to the broker, and the number of the start there. */
  #pipe: number | null = null;
  #attempt = 0;
  /** Its waits; `null` for a call that has never waited. */
  waits: CallWaiting | null = null;
  /** The step of its parent that requested it; 0 without one. */
  parentStep = 0;
  isResumed = false;
  /** The run before its pause. */
  #earlier: EarlierRun | null = null;
  /** Highest progress reported to the caller. */
  #progress = Number.NEGATIVE_INFINITY;
  readonly #stages: CallStages;

  constructor(admitted: AdmittedCall, callNumber: number, stages: CallStages) {
    const { callId, tool, args, command, limits, options, parent } = admitted;
    this.callNumber = callNumber;
    this.callId = callId;
    this.tool = tool;
    this.tenant = options.tenant ?? "";
    this.args = args;
    this.command = command;
    this.limits = limits;
    this.options = options;
    this.parent = parent;
    this.parentCallId = parent?.callId ?? admitted.parentCallId ?? null;
    this.#stages = stages;
  }

  /** Continues from an earlier run of the call. */
  resume(earlier: EarlierRun): void {
    this.#earlier = earlier;
    this.isResumed = true;
    this.#plan = earlier.plan;
    this.clockMs = earlier.startMs;
  }

  get seed(): string | undefined {
    return this.#earlier?.seed;
  }

  get nowMs(): number | undefined {
    return this.isResumed ? this.clockMs : undefined;
  }

  onIdle(idle: CallIdle): void {
    this.waits?.onIdle(idle);
  }

  get script(): ToolScript {
    return this.tool.script;
  }

  /** Times of all of its starts, in milliseconds since the epoch. */
  get startsMs(): readonly number[] {
    return this.#hasBegun ? [this.clockMs, ...(this.#restartsMs ?? [])] : [];
  }

  get waitMs(): number {
    return Math.max(0, this.limits.queueMs - this.queueMs);
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

  /** A retry has no claim: only this server knows the effects of the earlier attempts. */
  get claim(): LedgerClaim | undefined {
    if (this.claimOf === null || this.retries > 0) return undefined;
    return this.claimOf(fingerprintOf(this.tool)) ?? undefined;
  }

  /** Number of capability calls carried out, in all attempts. */
  get effects(): number {
    return this.#earlierEffects + (this.end?.effects ?? 0);
  }

  /** The host's work for the call's capability calls; `null` if it made none. */
  get hostUse(): HostUse | null {
    if (this.account === null || this.account.asks === 0) return null;
    const { asks, bytesAsked, bytesAnswered, hostMs } = this.account;
    return { askMs: Math.round(hostMs * 1_000) / 1_000, asks, bytes: bytesAsked + bytesAnswered };
  }

  get lastRefusal(): LastRefusal | null {
    return this.end?.lastRefusal ?? null;
  }

  /** Budget for child calls. */
  get childBudget(): ChildBudget {
    return (this.#childBudget ??= new ChildBudget(this.limits.cpuMs, this.parent?.childBudget ?? null));
  }

  /** Remaining time for one more child call. */
  left(): Pick<Limits, "wallMs" | "cpuMs"> {
    const passedMs = this.#startMs === null ? 0 : performance.now() - this.#startMs;
    return { wallMs: Math.floor(this.limits.wallMs - passedMs), cpuMs: this.childBudget.leftMs };
  }

  /** The call as the broker sees it. */
  brokered(
    tools: Pick<BrokeredCall, "callTool" | "adoptChild" | "pause" | "effectsId">,
    { broker, events, keeper }: BrokeredParts,
  ): HostedCall {
    const { options, limits, script, trace } = this;
    return {
      callNumber: this.callNumber,
      version: this.tool,
      trace,
      logging: keeper?.loggingOf(this),
      isHeard: events.isHeard("capability:call") || options.onCapability !== undefined,
      callId: this.callId,
      parentId: this.parentCallId ?? undefined,
      tool: this.tool.info.name,
      tags: this.tool.info.tags,
      registrant: this.tool.info.registrant,
      digest: this.tool.info.digest,
      tenant: this.tenant,
      requested: this.tool.capabilities,
      narrowed: options.capabilities,
      limits,
      account: (this.account ??= new HostAccount(this.tenant, broker.accounts.of(this.tenant))),
      isRecorded: options.record === true,
      binary: broker.binaryOf(script.key, limits),
      remote: script.runtime === "remote" ? { operation: script.text, wallMs: limits.wallMs } : undefined,
      own: this.tool.own,
      journal: this.#earlier?.journal,
      keep: keepOf(this),
      ...tools,
      onProgress: options.onProgress && ((progress) => this.onProgress(progress)),
      onLost: () => this.#stages.stop(this.callNumber, JOURNAL_LOST),
      onOutcome:
        options.onCapability && ((event) => this.#stages.notify("onCapability", () => options.onCapability?.(event))),
    };
  }

  /** Time of the host's threads for the call since the last call of this, in milliseconds. */
  takeHostMs(): number {
    const totalMs = this.account?.hostMs ?? 0;
    const ms = totalMs - this.#toldHostMs;
    this.#toldHostMs = totalMs;
    return ms;
  }

  /** Prepares the call for one more attempt, after the reply of the last one. */
  beginAttempt(callNumber: number, { attempts, waitedMs }: CallReply): void {
    this.#earlierEffects = this.effects;
    this.attempts += attempts;
    this.retries++;
    this.queueMs += waitedMs;
    // A retry makes failed capability calls again: the last attempt's journal must not answer them.
    void this.session?.take(false);
    this.session = null;
    this.end = null;
    this.#plan = "";
    this.#childBudget = null;
    this.callNumber = callNumber;
  }

  /** Ends it with the end that its parent's worker has reported. */
  adopt({ output, startMs, wallMs, cpuMs, heapBytes, logs, dropped }: ChildReply): void {
    this.onStart(startMs - performance.timeOrigin, Math.floor(startMs));
    const outcome = { ok: true, json: output } as const;
    this.settle({ outcome, cpuMs, waitedMs: 0, wallMs, heapBytes, attempts: 1, logs, dropped });
  }

  start(slot: Slot, queueMs: number): void {
    this.#stages.start(this, slot, queueMs);
  }

  refuse(refusal: Refusal): void {
    this.#stages.refuse(this, refusal);
  }

  settle(reply: CallReply): void {
    this.#stages.settle(this, reply);
  }

  begin(pipe: number | null, attempt: number): void {
    this.#pipe = pipe;
    this.#attempt = attempt;
    if (this.#hasBegun) (this.#restartsMs ??= []).push(Date.now());
    this.#hasBegun = true;
    // The broker gets calls that are expected to use it; about others it asks.
    if (pipe !== null && !this.asksHost && (this.session !== null || this.tool.usage.asks === true)) this.introduce();
  }

  introduce(): void {
    if (this.#pipe !== null) this.#openSession().begin(this.#pipe, this.#attempt);
  }

  /** Ends the session of an attempt; `null` if the call made no capability calls. */
  endSession({ attempts: attempt, deliveredCount, asked }: CallReply): SessionEnd | Promise<SessionEnd> | null {
    const { usage } = this.tool;
    if (asked !== undefined && usage.asks !== asked) usage.asks = asked;
    // The broker has not yet asked about the call.
    if (asked === true && this.session === null) this.introduce();
    return this.session?.end({ attempt, deliveredCount }, asked) ?? null;
  }

  ask(call: CapabilityCall, respond: Respond): void {
    if (call.reply !== undefined && this.children === null) return respond(NOT_ITS_OWN);
    this.#openSession().ask(call, respond);
  }

  #openSession(): EngineSession {
    return (this.session ??= this.#stages.openSession(this));
  }

  plan(): string {
    return this.#plan;
  }

  prepare(): Promise<Failure | null> | null {
    return this.session === null ? null : this.#fetchPlan(this.session);
  }

  async #fetchPlan(session: EngineSession): Promise<Failure | null> {
    const plan = await session.plan();
    this.#plan = plan ?? "";
    return plan === null ? JOURNAL_LOST : null;
  }

  onTimed(step: number, nowMs: number): void {
    this.session?.note({ kind: "timed", callNumber: this.callNumber, attempt: 0, step, nowMs });
  }

  onLate(fired: number, nowMs: number): void {
    this.#openSession().note({ kind: "late", callNumber: this.callNumber, attempt: 0, fired, nowMs });
  }

  onTogether(at: number, count: number): void {
    this.session?.note({ kind: "together", callNumber: this.callNumber, attempt: 0, at, count });
  }

  onStart(startMs: number, nowMs: number): void {
    this.#startMs = startMs;
    this.clockMs = nowMs;
    this.trace?.start(startMs);
  }

  onRestart(attempts: number): void {
    this.trace?.addEvent("glovebox.restart", { "glovebox.attempts": attempts });
  }

  onLog(line: string): void {
    const [level = "log", message = ""] = JSON.parse(line) as [string?, string?];
    this.#stages.notify("onLog", () => this.options.onLog?.({ level, message }));
  }

  /** Progress never decreases: a restarted call repeats reports that it made before. */
  onProgress(report: Progress): void {
    if (report.progress < this.#progress) return;
    this.#progress = report.progress;
    this.#stages.notify("onProgress", () => this.options.onProgress?.(report));
  }
}
