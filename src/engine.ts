import { randomBytes } from "node:crypto";
import { Admission } from "./admission.ts";
import { tenantOf } from "./arguments.ts";
import { Audit } from "./audit.ts";
import { createBroker } from "./authority.ts";
import type { Broker } from "./broker/broker.ts";
import { callTool, parentOf } from "./child-call.ts";
import { type CallHost, EngineCall } from "./engine-call.ts";
import type { ExecuteOptions } from "./execute-options.ts";
import { type Explanation, explainTool, lintAll, lintTool, type ToolFinding } from "./explanation.ts";
import type { EngineStats } from "./engine-stats.ts";
import { GloveboxError, toolError } from "./errors.ts";
import { within } from "./deadline.ts";
import { Idempotency } from "./idempotency.ts";
import { type EventName, Events, type Listener } from "./events.ts";
import { createExecutor } from "./executor/create.ts";
import type { Executor } from "./executor/executor.ts";
import { bundlePrelude } from "./executor/prelude.ts";
import type { Prelude } from "./protocol/prelude.ts";
import { logEvents } from "./log.ts";
import { Metrics } from "./metrics.ts";
import { type EngineOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { recordCall } from "./recorder.ts";
import { Registrar } from "./registrar.ts";
import type { ToolCall, ToolResult } from "./result.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import { stopBundler } from "./tool/bundle.ts";
import type { ToolDefinition, ToolInfo, ToolLocation } from "./tool/definition.ts";
import type { ModuleReport } from "./tool/prepare.ts";
import type { RegisteredTool } from "./tool/registered-tool.ts";
import { ToolRegistry } from "./tool/registry.ts";

const DRAIN_DEFAULT_MS = 5_000;

/** Engines that are open in this process: the last one to close stops the bundler they share. */
let open = 0;

/**
 * Starts an engine: its executor first, then its tools.
 * Rejects with a `GloveboxError`: `load_error` where a tool cannot be registered, `executor_lost` where the executor
 * cannot start; with a `RangeError` or `TypeError` where an option is wrong.
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const resolved = resolveOptions(options);
  const engine = await Engine.start(resolved);
  try {
    await engine.registerAll(options.tools ?? []);
    return engine;
  } catch (error) {
    await engine.close({ drainMs: 0 });
    throw error;
  }
}

/** Runs tools that nobody has to trust. Made by `createEngine`. */
export class Engine implements AsyncDisposable {
  readonly #options: ResolvedOptions;
  readonly #events = new Events();
  readonly #registry = new ToolRegistry();
  readonly #registrar: Registrar;
  readonly #scheduler: Scheduler;
  readonly #executor: Executor;
  readonly #host: CallHost;
  readonly #broker: Broker;
  readonly #admission: Admission;
  readonly #idempotency = new Idempotency();
  readonly #metrics: Metrics;
  readonly #audit: Audit | undefined;
  #state: EngineStats["state"] = "open";
  #closing: Promise<void> | null = null;
  #lastRun = 0;

  private constructor(options: ResolvedOptions, prelude: Prelude) {
    this.#options = options;
    this.#scheduler = new Scheduler(options.queue);
    const entropyKey = randomBytes(32).toString("hex");
    this.#executor = createExecutor(options.executor, {
      workers: options.workers,
      prelude,
      entropyKey,
      nextRun: () => ++this.#lastRun,
      tell: (...told) => this.#events.emit(...told),
    });
    const { limits, maxLimits, packages, fetch } = options;
    this.#registrar = new Registrar({
      limits,
      maxLimits,
      packages,
      fetch,
      tell: (event) => this.#events.emit("package:step", event),
      requireOpen: () => this.#requireOpen(),
      inspect: (script) => this.#executor.inspect(script),
      forget: (key) => this.#executor.forget(key),
    });
    this.#broker = createBroker(options, (event) => this.#events.emit("capability:call", event));
    this.#host = {
      executor: this.#executor,
      broker: this.#broker,
      nextRun: () => ++this.#lastRun,
      record: (call, result) => recordCall(call, result, entropyKey),
      onEnd: (call, result) => this.#onEnd(call, result),
      callTool: (parent, name, args, signal) => callTool(parent, name, args, signal, (...child) => this.#run(...child)),
    };
    this.#admission = new Admission(this.#registry, options.maxLimits, this.#host);
    if (options.logger !== undefined) logEvents(this.#events, options.logger);
    const names = [...this.#broker.grants.capabilities.keys()];
    this.#metrics = new Metrics(
      this.#events,
      { scheduler: () => this.#scheduler.stats(), executor: () => this.#executor.stats() },
      names,
      options.registry,
    );
    if (options.audit !== undefined) this.#audit = new Audit(options.audit, this.#events);
  }

  /** @internal Use `createEngine`. */
  static async start(options: ResolvedOptions): Promise<Engine> {
    const engine = new Engine(options, await bundlePrelude());
    open++;
    try {
      await engine.#executor.start();
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
    const prepared = await this.#registrar.prepare(tool);
    this.#putAll(prepared);
    const [first] = prepared;
    if (first === undefined) throw new GloveboxError("load_error", "there is no tool in it");
    return first.info;
  }

  /** @internal Registers tools side by side; of those with the same name the last one stays. */
  async registerAll(tools: readonly (ToolDefinition | ToolLocation | string)[]): Promise<void> {
    const prepared = await Promise.all(tools.map((tool) => this.#registrar.prepare(tool)));
    this.#putAll(prepared.flat());
  }

  /**
   * What the modules at a place say of themselves, in the terms of their contracts and checked by nobody: for those who
   * want to know what is wrong with them. None is registered. Rejects as `register` does.
   */
  describe(location: ToolLocation | string): Promise<readonly ModuleReport[]> {
    return this.#registrar.describe(location);
  }

  /** Removes a tool; calls in flight end as they would. Answers whether there was one. */
  async unregister(name: string): Promise<boolean> {
    const tool = this.#registry.get(name);
    if (tool === undefined) return false;
    this.#registry.delete(name);
    this.#retire(tool);
    this.#events.emit("tool:unregister", { name });
    return true;
  }

  list(): ToolInfo[] {
    return [...this.#registry.list()];
  }

  get(name: string): ToolInfo | undefined {
    return this.#registry.get(name)?.info;
  }

  /**
   * What a tool's calls for a tenant are granted, within which limits, where each comes from, and what it asks for in
   * vain; nothing where there is no such tool.
   */
  explain(name: string, { tenant = "" }: { readonly tenant?: string } = {}): Explanation | undefined {
    const tool = this.#registry.get(name);
    return tool && explainTool(tool, tenant, this.#broker, this.#options.maxLimits);
  }

  /** What the policy says in vain, and what tools ask for in vain, whoever calls them: known before any of them runs. */
  lint(): readonly ToolFinding[] {
    return lintAll(this.#registry, this.#broker);
  }

  /** Runs a call. Never rejects: whatever goes wrong is in the result. */
  execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
    const run = (own: ExecuteOptions) => this.#run(call, own, null);
    const isKeyed = typeof options?.idempotencyKey === "string" && options.idempotencyKey !== "";
    return isKeyed ? this.#idempotency.run(call, options, run) : run(options);
  }

  on<Name extends EventName>(event: Name, listener: Listener<Name>): this {
    this.#events.on(event, listener);
    return this;
  }

  off<Name extends EventName>(event: Name, listener: Listener<Name>): this {
    this.#events.off(event, listener);
    return this;
  }

  /** Prometheus text. */
  metrics(): Promise<string> {
    return this.#metrics.text();
  }

  stats(): EngineStats {
    const { queued, running } = this.#scheduler.stats();
    const { ready, spareReady, rssBytes, isolates, quarantined, sandbox } = this.#executor.stats();
    const executor = { kind: this.#executor.kind, ready, spareReady, rssBytes, sandbox };
    return { state: this.#state, tools: this.#registry.size, queued, running, executor, isolates, quarantined };
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

  #run(call: ToolCall, options: ExecuteOptions, parent: EngineCall | null): Promise<ToolResult> {
    return new Promise((resolve) => {
      // A call that was accepted may still call others while the engine drains.
      const isOpen = this.#state === "open" || (parent !== null && this.#state === "draining");
      const accepted = this.#admission.admit(call, options, isOpen, parent);
      if (!(accepted instanceof EngineCall)) {
        this.#tell(accepted, tenantOf(options), parent);
        return resolve(accepted);
      }
      accepted.tool.usage.calls++;
      accepted.onResult = resolve;
      const blocked = this.#announce(accepted, call);
      if (blocked !== null) return accepted.fail(toolError("blocked", blocked), 0);
      if (parent !== null) return accepted.start(this.#scheduler.lend(), 0);
      const { tool, tenant, limits } = accepted;
      const { signal, priority = 0 } = options;
      this.#scheduler.add({ tool: tool.info.name, tenant, priority, queueMs: limits.queueMs, signal }, accepted);
    });
  }

  /** Tells `tool:pre`; answers the reason of a listener that refuses. */
  #announce({ callId, tool, tenant, parent }: EngineCall, call: ToolCall): string | null {
    if (!this.#events.has("tool:pre")) return null;
    let reason: string | null = null;
    const block = (why: string) => {
      reason ??= String(why).slice(0, 1_000);
    };
    this.#events.emit("tool:pre", { callId, tool: tool.info.name, tenant, ...parentOf(parent), call, block });
    return reason;
  }

  #onEnd({ tool, tenant, parent }: EngineCall, result: ToolResult): void {
    this.#tell(result, tenant, parent);
    const { usage } = tool;
    usage.calls--;
    if (usage.retired && usage.calls === 0) this.#executor.forget(tool.script.key);
  }

  #tell(result: ToolResult, tenant: string, parent: EngineCall | null): void {
    const { callId, tool } = result.metadata;
    this.#events.emit(result.success ? "tool:post" : "tool:error", {
      callId,
      tool,
      tenant,
      ...parentOf(parent),
      result,
    });
  }

  #putAll(tools: readonly RegisteredTool[]): void {
    this.#requireOpen();
    this.#registry.requireRoom(tools);
    for (const tool of tools) this.#put(tool);
  }

  #put(tool: RegisteredTool): void {
    const { name } = tool.info;
    const old = this.#registry.get(name);
    this.#registry.set(tool);
    if (old !== undefined) this.#retire(old);
    const findings = lintTool(tool, this.#broker);
    this.#events.emit("tool:register", { info: tool.info, replaced: old !== undefined, findings });
  }

  /** Drops a version's script from the workers once its last call has ended. */
  #retire(tool: RegisteredTool): void {
    tool.usage.retired = true;
    if (tool.usage.calls === 0) this.#executor.forget(tool.script.key);
  }

  async #close(drainMs: number): Promise<void> {
    this.#state = "draining";
    this.#events.emit("engine:close");
    this.#scheduler.close({ refuseWaiting: drainMs === 0 });
    await within(drainMs, this.#scheduler.idle());
    this.#scheduler.close({ refuseWaiting: true });
    await this.#executor.close();
    await this.#registrar.close();
    await this.#broker.close();
    await this.#audit?.close();
    this.#state = "closed";
    open--;
    if (open === 0) await stopBundler();
  }

  #requireOpen(): void {
    if (this.#state !== "open") throw new GloveboxError("engine_closed", "the engine takes no more tools");
  }
}
