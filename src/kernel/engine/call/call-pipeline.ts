import { isAmong } from "../../base/name-patterns.ts";
import { type Failure, GloveboxError, toolError } from "../../base/errors.ts";
import type { ChildReply } from "../../base/protocol/capability-call.ts";
import type { JsonVerdict } from "../../base/json-scanner.ts";
import type { LedgerClaimOf } from "../../base/ledger-claim.ts";
import { type Remedy, widerQueue } from "../../base/remedy.ts";
import {
  emptyMetadata,
  failure,
  refusedCall,
  type ResultMetadata,
  success,
  type ToolCall,
  type ToolResult,
} from "../../base/result.ts";
import type { SessionEnd } from "../../broker/call-session.ts";
import type { BrokerClient } from "../../broker/thread/broker-client.ts";
import type { EngineSession } from "../../broker/thread/host-session.ts";
import type { CallReply, Executor, OutputText } from "../../executor/executor.ts";
import { ANSWERED_NAMES, callOf, type Preparation, type ProgramSource } from "../../tool/program/program.ts";
import type { Programs } from "../../tool/program/programs.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { AnswerWork, ExecuteOptions } from "../execute-options.ts";
import type { InstalledTools } from "../installed-tools.ts";
import { recordCall } from "../replay/recording.ts";
import type { Refusal, Slot } from "../schedule/queue-entry.ts";
import type { Scheduler } from "../schedule/scheduler.ts";
import type { Events } from "../telemetry/events.ts";
import type { CallTrace, Tracing } from "../telemetry/tracing.ts";
import { AbortGroup } from "./abort-group.ts";
import type { Admission } from "./admission.ts";
import { Announcement } from "./announcement.ts";
import { describeMalformed, describeOptions, tenantOf, writeArguments } from "./arguments.ts";
import { CallEnds } from "./call-ends.ts";
import type { CallKeeper } from "./call-keeper.ts";
import { childTools, parentOf } from "./child-call.ts";
import { childrenOf } from "./child-tickets.ts";
import { concludeCall, mayRetry, spentBy, withEnd } from "./conclude.ts";
import { type CallStages, EngineCall } from "./engine-call.ts";
import { type DurableStage, mayOutlast } from "../durable/durable-stage.ts";
import type { Resumption } from "../durable/resumer.ts";
import type { Idempotency, Run } from "./idempotency.ts";
import { checkInPieces, staysText } from "./long-output.ts";
import { ToolLoaders } from "./tool-loaders.ts";

/** Objects that the stages of a call use. */
export interface PipelineParts {
  readonly registry: ToolRegistry;
  readonly tools: InstalledTools;
  readonly programs: Programs;
  readonly idempotency: Idempotency;
  readonly admission: Admission;
  readonly tracing: Tracing;
  readonly events: Events;
  readonly scheduler: Scheduler;
  readonly broker: BrokerClient;
  readonly executor: Executor;
  /** Returns the number of a new attempt. */
  readonly nextCallNumber: () => number;
  /** Secret from which the randomness of calls is derived. */
  readonly entropyKey: string;
  /** Keeps ended calls; `null` if they are not kept. */
  readonly keeper: CallKeeper | null;
  /** Calls that wait for people, signals and times. */
  readonly durable: DurableStage;
}

const CANCELLED: Failure = { code: "cancelled", message: "the call was cancelled while it ran" };
/** Length of arguments from which they are counted: copying shorter ones costs no more than any call. */
const COUNTED_FROM = 4 * 1024;

/** Stages of a call: admit → announce → schedule → run → conclude. Every call ends exactly once, with a result. */
export class CallPipeline implements CallStages {
  readonly #parts: PipelineParts;
  /** The group of the last started call with a signal: the next call often has the same. */
  #lastGroup: AbortGroup<EngineCall> | null = null;
  readonly ends: CallEnds;
  #isDraining = false;
  /** Number of calls that wait for decisions of listeners. */
  #held = 0;
  readonly loaders = new ToolLoaders();
  #queueRemedies: readonly Remedy[] | null = null;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.ends = new CallEnds(parts);
  }

  /** Runs a call; calls with the same idempotency key share one run. Never rejects. */
  execute(call: ToolCall, options: ExecuteOptions): Promise<ToolResult> {
    const running = this.#share(call, options, (own, claimOf) => this.run(call, own, null, claimOf));
    return mayOutlast(options) ? this.#parts.durable.latest(running, options) : running;
  }

  #share(call: ToolCall, options: ExecuteOptions, run: Run): Promise<ToolResult> {
    const isKeyed = typeof options?.idempotencyKey === "string" && options.idempotencyKey !== "";
    // A caller that may not call the tool must not get another caller's result either.
    return isKeyed && isAmong(options.tools, call?.name)
      ? this.#parts.idempotency.run(call, options, run)
      : run(options);
  }

  /** Runs the program of a call. Rejects with a `RangeError` if one of its limits is invalid. */
  runProgram(call: ToolCall, source: ProgramSource, options: ExecuteOptions): Promise<ToolResult> {
    const running = this.#share(call, options, (own, claimOf) =>
      this.#host(call, own, async (callId, trace) => {
        const step: Preparation["step"] = (name, work) => (trace === null ? work() : trace.step(name, work));
        const program = await source.prepare({ callId, tenant: tenantOf(own), step });
        const tool = this.#parts.programs.toolFor(program, source);
        trace?.beginWait();
        return source.finish(await this.run({ ...callOf(program), id: callId }, own, null, claimOf, { tool, trace }));
      }),
    );
    return mayOutlast(options) ? this.#parts.durable.latest(running, options) : running;
  }

  /** Answers a call of a tool of the host itself. A `GloveboxError` with which `work` rejects is its result. */
  answer(call: ToolCall, work: AnswerWork, options: ExecuteOptions): Promise<ToolResult> {
    return this.#host(call, options, async (callId, trace) => {
      const startMs = performance.now();
      const output = await work(options);
      const wallMs = performance.now() - startMs;
      const result = success(output, { ...emptyMetadata(callId, call.name, 0), wallMs, attempts: 1 });
      this.ends.unrun(trace, result, options, null);
      return result;
    });
  }

  /** Does the host's part of a call for a caller that may make it, within its span, and emits its refusal. */
  async #host(
    call: ToolCall,
    options: ExecuteOptions,
    work: (callId: string, trace: CallTrace | null) => Promise<ToolResult>,
  ): Promise<ToolResult> {
    const { admission, registry, tracing } = this.#parts;
    const mayCall = !this.#isDraining && describeOptions(options) === null && isAmong(options.tools, call.name);
    // Admission makes the refusal.
    if (!mayCall) return this.run(call, options, null);
    const callId = call.id ?? admission.nextId();
    const tenant = tenantOf(options);
    const isKnown = ANSWERED_NAMES.has(call.name) || registry.get(call.name, tenant) !== undefined;
    const trace = tracing.begin(String(callId), isKnown ? call.name : "", tenant, null);
    try {
      const wrong = describeMalformed(call, callId);
      if (wrong !== null) throw new GloveboxError("invalid_arguments", wrong);
      return await work(callId, trace);
    } catch (error) {
      if (!(error instanceof GloveboxError)) throw error;
      const result = refusedCall(
        { id: String(callId), name: call.name },
        toolError(error.code, error.message, error.details),
      );
      this.ends.unrun(trace, result, options, null);
      return result;
    }
  }

  /**
   * Admits, announces and schedules a call. `parent`: the call on whose behalf it is made; `program`: its tool, if that
   * is not registered, with the span of the call.
   */
  run(
    call: ToolCall,
    options: ExecuteOptions,
    parent: EngineCall | null,
    claimOf: LedgerClaimOf | null = null,
    program: { readonly tool: RegisteredTool; readonly trace: CallTrace | null } | null = null,
    reply: ChildReply | null = null,
    step = 0,
  ): Promise<ToolResult> {
    return new Promise((resolve) => {
      const { admission, tracing, keeper, nextCallNumber } = this.#parts;
      // An accepted call may still make child calls while the engine drains.
      const isOpen = !this.#isDraining || parent !== null;
      const admitted = admission.admit(call, options, isOpen, parent, program?.tool ?? null);
      if ("success" in admitted) {
        this.ends.rejected(admitted, options, parent, program?.trace ?? null);
        return resolve(admitted);
      }
      const accepted = new EngineCall(admitted, nextCallNumber(), this);
      const { callId, tool, tenant } = accepted;
      accepted.trace = program?.trace ?? tracing.begin(callId, tool.info.name, tenant, parent?.trace ?? null);
      accepted.claimOf = claimOf;
      accepted.parentStep = step;
      keeper?.accept(accepted);
      accepted.resolve = resolve;
      const { length } = accepted.args;
      if (length > COUNTED_FROM) this.#parts.broker.accounts.of(tenant).countGiven(length);
      tool.usage.calls++;
      if (reply !== null) return accepted.adopt(reply);
      if (!this.#parts.events.has("tool:pre")) return this.#pass(accepted, null);
      const announcement = new Announcement(accepted, call);
      this.#parts.events.emit("tool:pre", announcement.event);
      if (announcement.isOpen) void this.#hold(accepted, announcement);
      else this.#proceed(accepted, announcement);
    });
  }

  /** Holds a call until the listeners of `tool:pre` have decided on it. */
  async #hold(call: EngineCall, announcement: Announcement): Promise<void> {
    const { maxQueued } = this.#parts.scheduler.stats();
    if (this.#held >= maxQueued) {
      const error = toolError("queue_full", `${maxQueued} calls wait for decisions of listeners of tool:pre already`);
      return this.ends.end(call, failure({ ...error, remedies: this.#widerQueue() }, metadataOf(call, 0)));
    }
    this.#held++;
    const { signal } = call.options;
    await announcement.decide(call.limits.wallMs, signal);
    this.#held--;
    if (signal?.aborted !== true) return this.#proceed(call, announcement);
    const message = "the call was cancelled while listeners of tool:pre decided about it";
    this.ends.end(call, failure(toolError("cancelled", message), metadataOf(call, 0)));
  }

  #proceed(call: EngineCall, { blocked, replaced, approval }: Announcement): void {
    if (blocked !== null) return this.ends.end(call, failure(toolError("blocked", blocked), metadataOf(call, 0)));
    if (replaced !== null) {
      const args = writeArguments(replaced, call.limits);
      if (typeof args !== "string") return this.ends.end(call, failure(args, metadataOf(call, 0)));
      call.args = args;
    }
    this.#pass(call, approval);
  }

  /** Lets a call pass that needs no approval and no store. A parent waits for the approval of its child call. */
  #pass(call: EngineCall, asked: string | null): void {
    const mayNeed = call.parent === null && this.#parts.durable.mayNeedStore(call);
    if (mayNeed || asked !== null) void this.#gate(call, asked);
    else this.#schedule(call);
  }

  async #gate(call: EngineCall, asked: string | null): Promise<void> {
    const gated = await this.#parts.durable.admit(call, asked);
    if (gated.kind === "open") return this.#schedule(call);
    const result = failure(gated.error, metadataOf(call, 0));
    this.ends[gated.kind === "paused" ? "paused" : "end"](call, result);
  }

  /** Continues a paused call. Resolves with the result of this run. */
  resume({ admitted, run }: Resumption, attach: (call: EngineCall) => void): Promise<ToolResult> {
    return new Promise((resolve) => {
      const { tracing, keeper, nextCallNumber } = this.#parts;
      const call = new EngineCall(admitted, nextCallNumber(), this);
      call.trace = tracing.begin(call.callId, call.tool.info.name, call.tenant, null);
      if (run !== null) call.resume(run);
      attach(call);
      keeper?.accept(call);
      call.resolve = resolve;
      call.tool.usage.calls++;
      this.#schedule(call);
    });
  }

  #schedule(call: EngineCall): void {
    const { scheduler } = this.#parts;
    const { tool, tenant, limits, options } = call;
    // The parent holds a slot already. A child that waited for another one could deadlock.
    if (call.parent !== null) return this.start(call, scheduler.lend(), 0);
    const { signal, priority = 0 } = options;
    scheduler.add({ tool: tool.info.name, tenant, priority, queueMs: limits.queueMs, signal }, call);
  }

  /** Passes a call that holds a slot to the executor. */
  start(call: EngineCall, slot: Slot, queueMs: number): void {
    const { broker, executor } = this.#parts;
    call.slot = slot;
    call.queueMs = queueMs;
    call.grants = broker.grants;
    call.asksHost = broker.isOfHost(call.tool.capabilities);
    if (this.loaders.isEmpty) call.children = childrenOf(call, this.#parts);
    const { signal } = call.options;
    if (signal !== undefined) (call.abortGroup = this.#groupOf(signal)).add(call);
    executor.run(call);
  }

  #groupOf(signal: AbortSignal): AbortGroup<EngineCall> {
    if (this.#lastGroup?.signal === signal) return this.#lastGroup;
    return (this.#lastGroup = new AbortGroup(signal, ({ callNumber }) => this.stop(callNumber, CANCELLED)));
  }

  get durable(): DurableStage {
    return this.#parts.durable;
  }

  toolOf(name: string, tenant: string): RegisteredTool | undefined {
    return this.#parts.registry.get(name, tenant);
  }

  load(call: ToolCall, tenant: string | undefined): Promise<ToolResult | null> {
    return this.loaders.load(call, tenant);
  }

  /** Opens the broker's session of a call, at its first capability call. */
  openSession(call: EngineCall): EngineSession {
    return this.#parts.broker.open(call.brokered(childTools(call, this), this.#parts), call.grants);
  }

  stop(callNumber: number, { code, message }: Failure): void {
    this.#parts.executor.cancel(callNumber, code, message);
  }

  /** Ends a call that the scheduler refused. */
  refuse(call: EngineCall, { code, message, retryAfterMs, queueMs }: Refusal): void {
    const error = toolError(code, message, retryAfterMs === undefined ? undefined : { retryAfterMs });
    const full = code === "queue_full" ? { ...error, remedies: this.#widerQueue() } : error;
    this.ends.end(call, failure(full, metadataOf(call, queueMs)));
  }

  /** Made once: in an overload, most calls are refused. */
  #widerQueue(): readonly Remedy[] {
    return (this.#queueRemedies ??= [widerQueue(this.#parts.scheduler.stats().maxQueued)]);
  }

  notify(option: string, listener: () => unknown): void {
    this.#parts.events.call(option, listener);
  }

  /** Handles the executor's reply: retries the call if it may be retried, otherwise concludes it. */
  settle(call: EngineCall, given: CallReply): void {
    const ending = call.endSession(given);
    if (ending === null) return this.#settle(call, given);
    const conclude = (end: SessionEnd): void => this.#settle(call, withEnd(given, (call.end = end)));
    if (ending instanceof Promise) void ending.then(conclude);
    else conclude(ending);
  }

  #settle(call: EngineCall, reply: CallReply): void {
    const { executor, nextCallNumber } = this.#parts;
    const { outcome } = reply;
    if (reply.work === undefined) this.#charge(call, spentBy(reply, call.limits));
    else this.#awaitWork(call, reply.work);
    if (!outcome.ok && call.waits === null && mayRetry(outcome.failure, call, executor)) {
      call.trace?.addEvent("glovebox.retry", { "error.type": outcome.failure.code });
      call.beginAttempt(nextCallNumber(), reply);
      return executor.run(call);
    }
    call.abortGroup?.delete(call);
    if (outcome.ok && staysText(outcome.json, call.tool) && call.options.record !== true) {
      return void this.#concludeText(call, reply, outcome);
    }
    this.#conclude(call, reply, null);
  }

  /** Concludes a call whose output stays text, once that is proved to be JSON. */
  async #concludeText(call: EngineCall, reply: CallReply, { json, parts }: OutputText): Promise<void> {
    const { work, accounts } = this.#parts.broker;
    const payer = call.account ?? accounts.of(call.tenant);
    const isWithin = json.length <= call.limits.outputBytes;
    this.#conclude(call, reply, isWithin ? await checkInPieces(parts ?? json, work, payer) : null);
  }

  #conclude(call: EngineCall, reply: CallReply, checked: JsonVerdict | null): void {
    const { executor, entropyKey } = this.#parts;
    call.isSettled = true;
    // Free the slot before the caller gets the result, so that the caller's next call finds it free.
    if (call.lingering === 0) call.slot?.release();
    const result = concludeCall(reply, call, executor, checked);
    this.ends.end(call, call.options.record === true ? recordCall(call, result, entropyKey) : result, reply);
  }

  /** Charges an attempt: its processor time to the tenant, and with the host's work for it to the caller. */
  #charge(call: EngineCall, executorMs: number): void {
    (call.account ?? this.#parts.broker.accounts.of(call.tenant)).spendExecutor(executorMs);
    const { onCpu } = call.options;
    if (onCpu === undefined) return;
    const hostMs = call.takeHostMs();
    this.notify("onCpu", () => onCpu(executorMs + hostMs));
  }

  /** A call that was answered early keeps its slot, and is charged, until its worker has stopped working for it. */
  #awaitWork(call: EngineCall, work: Promise<number>): void {
    call.lingering++;
    void work.then((cpuMs) => {
      call.lingering--;
      const { callId, tool, tenant } = call;
      this.#charge(call, cpuMs);
      this.#parts.events.emit("tool:late", { callId, tool: tool.info.name, tenant, ...parentOf(call), cpuMs });
      if (call.isSettled && call.lingering === 0) call.slot?.release();
    });
  }

  /** Refuses new calls, lets accepted ones end until `hurry` resolves, and ends the rest with `engine_closed`. */
  async close({ isAtOnce, hurry }: { readonly isAtOnce: boolean; readonly hurry: Promise<void> }): Promise<void> {
    const { scheduler, executor, events, idempotency } = this.#parts;
    this.#isDraining = true;
    events.emit("engine:close");
    scheduler.close({ refuseWaiting: isAtOnce });
    await Promise.race([scheduler.idle(), hurry]);
    scheduler.close({ refuseWaiting: true });
    await executor.close();
    await idempotency.close();
  }
}

function metadataOf({ callId, tool }: EngineCall, queueMs: number): ResultMetadata {
  return emptyMetadata(callId, tool.info.name, queueMs);
}
