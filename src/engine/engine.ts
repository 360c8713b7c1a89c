import type { Registry } from "prom-client";
import { tenantOf } from "./call/arguments.ts";
import { type Assembly, assemble, type Loaded } from "./assembly.ts";
import { loadExecutor, requirePackages } from "./create-executor.ts";
import { parentOf } from "./call/child-call.ts";
import { EngineCall } from "./call/engine-call.ts";
import { type ExecuteOptions, isAmong } from "./execute-options.ts";
import { type Explanation, explainTool, lintAll, lintTool, type ToolFinding } from "./explanation.ts";
import type { EngineStats } from "./engine-stats.ts";
import { GloveboxError, toolError } from "../base/errors.ts";
import { within } from "../base/deadline.ts";
import type { RefusedRequest, EventName, Listener, Reconfigured } from "./telemetry/events.ts";
import { bundlePrelude } from "../tool/runtimes/prelude.ts";
import { type EngineOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import type { Policy } from "../broker/policy.ts";
import { Reconfiguration } from "./reconfiguration.ts";
import type { ToolCall, ToolResult } from "../base/result.ts";
import type { LedgerClaimOf } from "../base/ledger-claim.ts";
import { stopBundler } from "../tool/bundle/bundle.ts";
import type { ToolDefinition, ToolInfo, ToolLocation } from "../tool/definition.ts";
import type { ModuleReport } from "../tool/prepare.ts";
import type { RegisteredTool } from "../tool/registered-tool.ts";
import type { CallTrace } from "./telemetry/tracing.ts";

const DRAIN_DEFAULT_MS = 5_000;

/** Engines that are open in this process: the last one to close stops the bundler they share. */
let open = 0;

/**
 * Starts an engine: its executor first, then its tools.
 * Rejects with a `GloveboxError`: `load_error` where a tool cannot be registered, `executor_lost` where the executor
 * cannot start; with a `RangeError` or `TypeError` where an option is wrong.
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  return Engine.start(options, resolveOptions(options));
}

/** Runs tools that nobody has to trust. Made by `createEngine`. */
export class Engine implements AsyncDisposable {
  readonly #parts: Assembly;
  readonly #reconfiguration: Reconfiguration;
  #state: EngineStats["state"] = "open";
  #closing: Promise<void> | null = null;

  private constructor(given: EngineOptions, options: ResolvedOptions, loaded: Loaded) {
    const requireOpen = () => this.#requireOpen();
    this.#parts = assemble(options, loaded, {
      requireOpen,
      onEnd: (call, result) => this.#onEnd(call, result),
      run: (call, own, parent) => this.#run(call, own, parent),
    });
    this.#reconfiguration = new Reconfiguration(given, options, this.#parts, {
      requireOpen,
      put: (tool) => this.#put(tool),
      remove: (name) => this.#remove(name),
    });
  }

  /** @internal Use `createEngine`. */
  static async start(given: EngineOptions, options: ResolvedOptions): Promise<Engine> {
    const [createExecutor, prelude] = await Promise.all([loadExecutor(options.executor), bundlePrelude()]);
    await requirePackages(options);
    const engine = new Engine(given, options, { createExecutor, prelude });
    open++;
    try {
      await engine.#parts.executor.start();
      await engine.#reconfiguration.apply(given);
      return engine;
    } catch (error) {
      await engine.close({ drainMs: 0 });
      throw error;
    }
  }

  /**
   * Registers a tool, or replaces the one of that name: calls in flight end on the old version, later ones use the
   * new. A string names a module file, or a folder of them; of several tools the first one's info is answered, and
   * either all are registered or none. Rejects with a `GloveboxError`: `load_error`, `engine_closed`.
   */
  async register(tool: ToolDefinition | ToolLocation | string): Promise<ToolInfo> {
    const prepared = await this.#parts.registrar.prepare(tool);
    this.#putAll(prepared);
    const [first] = prepared;
    if (first === undefined) throw new GloveboxError("load_error", "there is no tool in it");
    return first.info;
  }

  /**
   * Puts other options in force, all of them as `createEngine` takes them, without losing a call: tools that are new or
   * have changed are registered, those that earlier options brought and these do not are removed, policy and limits are
   * replaced. Either all of that happens or, where anything is wrong, nothing: then it rejects as `createEngine` does. Calls
   * that have begun keep what they were granted. The answer says what changed, and what of the options needs a restart.
   */
  async reconfigure(options: EngineOptions): Promise<Reconfigured> {
    const changed = await this.#reconfiguration.apply(options);
    this.#parts.events.emit("engine:reconfigure", changed);
    return changed;
  }

  /**
   * Puts another policy in force, for the calls that begin from now on: those that run keep what they were granted. Throws a
   * `TypeError` that points at what is wrong with it, and changes nothing then.
   */
  setPolicy(policy: Policy): void {
    this.#reconfiguration.setPolicy(policy);
  }

  /**
   * What the modules at a place say of themselves, in the terms of their contracts and checked by nobody: for those who
   * want to know what is wrong with them. None is registered. Rejects as `register` does.
   */
  describe(location: ToolLocation | string): Promise<readonly ModuleReport[]> {
    return this.#parts.registrar.describe(location);
  }

  /** Removes a tool; calls in flight end as they would. Answers whether there was one. */
  async unregister(name: string): Promise<boolean> {
    return this.#remove(name);
  }

  list(): ToolInfo[] {
    return [...this.#parts.registry.list()];
  }

  get(name: string): ToolInfo | undefined {
    return this.#parts.registry.get(name)?.info;
  }

  /**
   * What a tool's calls for a tenant are granted, within which limits, where each comes from, and what it asks for in
   * vain; nothing where there is no such tool.
   */
  explain(name: string, { tenant = "" }: { readonly tenant?: string } = {}): Explanation | undefined {
    const tool = this.#parts.registry.get(name);
    return tool && explainTool(tool, tenant, this.#parts.broker, this.#parts.bounds.maxLimits);
  }

  /** What the policy says in vain, and what tools ask for in vain, whoever calls them: known before any of them runs. */
  lint(): readonly ToolFinding[] {
    return lintAll(this.#parts.registry, this.#parts.broker);
  }

  /** Runs a call. Never rejects: whatever goes wrong is in the result. */
  execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
    const run = (own: ExecuteOptions, ticketOf: LedgerClaimOf | null = null) => this.#run(call, own, null, ticketOf);
    const isKeyed = typeof options?.idempotencyKey === "string" && options.idempotencyKey !== "";
    // The result of a tool that it may not call is not another call's to give either.
    return isKeyed && isAmong(options.tools, call?.name)
      ? this.#parts.idempotency.run(call, options, run)
      : run(options);
  }

  on<Name extends EventName>(event: Name, listener: Listener<Name>): this {
    this.#parts.events.on(event, listener);
    return this;
  }

  off<Name extends EventName>(event: Name, listener: Listener<Name>): this {
    this.#parts.events.off(event, listener);
    return this;
  }

  /** @internal What happens at the doors, which stand before the engine, is told by it like all else. */
  tell(...told: RefusedRequest): void {
    this.#parts.events.emit(...told);
  }

  /** Prometheus text. */
  metrics(): Promise<string> {
    return this.#parts.metrics.text();
  }

  /** Where its metrics are registered, for those of what is built around it. */
  get registry(): Registry {
    return this.#parts.metrics.registry;
  }

  stats(): EngineStats {
    const { queued, running } = this.#parts.scheduler.stats();
    const { ready, spareReady, rssBytes, isolates, quarantined, sandbox, fleet } = this.#parts.executor.stats();
    const { kind } = this.#parts.executor;
    const executor = { kind, ready, spareReady, rssBytes, sandbox, ...(fleet === undefined ? {} : { fleet }) };
    return { state: this.#state, tools: this.#parts.registry.size, queued, running, executor, isolates, quarantined };
  }

  /**
   * Takes no more calls, lets those that were accepted end for at most `drainMs` (default 5,000), ends the rest with
   * `engine_closed`, and leaves no thread, process or timer behind.
   */
  close(options: { drainMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(options.drainMs ?? DRAIN_DEFAULT_MS);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #run(
    call: ToolCall,
    options: ExecuteOptions,
    parent: EngineCall | null,
    ticketOf: LedgerClaimOf | null = null,
  ): Promise<ToolResult> {
    return new Promise((resolve) => {
      // A call that was accepted may still call others while the engine drains.
      const isOpen = this.#state === "open" || (parent !== null && this.#state === "draining");
      const accepted = this.#parts.admission.admit(call, options, isOpen, parent);
      if (!(accepted instanceof EngineCall)) {
        this.#refuse(accepted, tenantOf(options), parent);
        return resolve(accepted);
      }
      const { callId, tool, tenant, limits } = accepted;
      accepted.trace = this.#parts.tracing.begin(callId, tool.info.name, tenant, parent?.trace ?? null);
      accepted.ticketOf = ticketOf;
      tool.usage.calls++;
      accepted.onResult = resolve;
      const blocked = this.#announce(accepted, call);
      if (blocked !== null) return accepted.fail(toolError("blocked", blocked), 0);
      if (parent !== null) return accepted.start(this.#parts.scheduler.lend(), 0);
      const { signal, priority = 0 } = options;
      this.#parts.scheduler.add({ tool: tool.info.name, tenant, priority, queueMs: limits.queueMs, signal }, accepted);
    });
  }

  /** Tells `tool:pre`; answers the reason of a listener that refuses. */
  #announce({ callId, tool, tenant, parent }: EngineCall, call: ToolCall): string | null {
    if (!this.#parts.events.has("tool:pre")) return null;
    let reason: string | null = null;
    const block = (why: string) => {
      reason ??= String(why).slice(0, 1_000);
    };
    this.#parts.events.emit("tool:pre", { callId, tool: tool.info.name, tenant, ...parentOf(parent), call, block });
    return reason;
  }

  /** A call that was not admitted has ended before it began. */
  #refuse(result: ToolResult, tenant: string, parent: EngineCall | null): void {
    const { callId, tool } = result.metadata;
    // A name that only a caller made up names no span.
    const name = this.#parts.registry.get(tool) === undefined ? "" : tool;
    const trace = this.#parts.tracing.begin(callId, name, tenant, parent?.trace ?? null);
    this.#conclude(trace, result, tenant, parent);
  }

  #onEnd({ tool, tenant, parent, trace }: EngineCall, result: ToolResult): void {
    this.#conclude(trace, result, tenant, parent);
    const { usage } = tool;
    usage.calls--;
    if (usage.retired && usage.calls === 0) this.#parts.forget(tool.script.key);
  }

  /** Tells what came of a call, with its span active for who hears it, and ends the span. */
  #conclude(trace: CallTrace | null, result: ToolResult, tenant: string, parent: EngineCall | null): void {
    if (trace === null) return this.#tell(result, tenant, parent);
    trace.within(() => this.#tell(result, tenant, parent));
    trace.end(result);
  }

  #tell(result: ToolResult, tenant: string, parent: EngineCall | null): void {
    const { callId, tool } = result.metadata;
    this.#parts.events.emit(result.success ? "tool:post" : "tool:error", {
      callId,
      tool,
      tenant,
      ...parentOf(parent),
      result,
    });
  }

  #putAll(tools: readonly RegisteredTool[]): void {
    this.#requireOpen();
    this.#parts.registry.requireRoom(tools);
    for (const tool of tools) this.#put(tool);
  }

  #put(tool: RegisteredTool): void {
    const { name } = tool.info;
    const old = this.#parts.registry.get(name);
    this.#parts.registry.set(tool);
    if (old !== undefined) this.#retire(old);
    const findings = lintTool(tool, this.#parts.broker);
    this.#parts.events.emit("tool:register", { info: tool.info, replaced: old !== undefined, findings });
  }

  #remove(name: string): boolean {
    const tool = this.#parts.registry.get(name);
    if (tool === undefined) return false;
    this.#parts.registry.delete(name);
    this.#retire(tool);
    this.#parts.events.emit("tool:unregister", { name });
    return true;
  }

  /** Drops a version's script from the workers once its last call has ended. */
  #retire(tool: RegisteredTool): void {
    tool.usage.retired = true;
    if (tool.usage.calls === 0) this.#parts.forget(tool.script.key);
  }

  async #close(drainMs: number): Promise<void> {
    this.#state = "draining";
    this.#parts.events.emit("engine:close");
    this.#parts.scheduler.close({ refuseWaiting: drainMs === 0 });
    await within(drainMs, this.#parts.scheduler.idle());
    this.#parts.scheduler.close({ refuseWaiting: true });
    await this.#parts.executor.close();
    await this.#parts.idempotency.close();
    await this.#parts.registrar.close();
    await this.#parts.broker.close();
    await this.#parts.audit?.close();
    this.#state = "closed";
    open--;
    if (open === 0) await stopBundler();
  }

  #requireOpen(): void {
    if (this.#state !== "open") throw new GloveboxError("engine_closed", "the engine takes no more tools");
  }
}
