import { randomBytes, randomUUID } from "node:crypto";
import { CALL_ID_MAX, describeMalformed, writeArguments } from "./arguments.ts";
import { Broker } from "./broker/broker.ts";
import { emptyMetadata, EngineCall, type ExecuteOptions, failure } from "./engine-call.ts";
import { type ErrorCode, GloveboxError, toolError } from "./errors.ts";
import { within } from "./deadline.ts";
import { emitExecutorEvent, type EventName, Events, type Listener } from "./events.ts";
import { createExecutor } from "./executor/create.ts";
import type { Executor, Reply } from "./executor/executor.ts";
import { bundlePrelude } from "./executor/prelude.ts";
import { type Limits, resolveLimits } from "./limits.ts";
import { Metrics } from "./metrics.ts";
import { type EngineOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import type { ToolCall, ToolResult } from "./result.ts";
import { Refusal } from "./schedule/refusal.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import { stopBundler } from "./tool/bundle.ts";
import type { ToolDefinition, ToolInfo } from "./tool/definition.ts";
import { prepareTool, type RegisteredTool } from "./tool/prepare.ts";
import { ToolRegistry } from "./tool/registry.ts";
import { findSources } from "./tool/source.ts";

/** A snapshot of what an engine is doing. */
export interface EngineStats {
  readonly state: "open" | "draining" | "closed";
  readonly tools: number;
  readonly queued: number;
  readonly running: number;
  readonly executor: { readonly kind: string; readonly ready: boolean; readonly rssBytes: number };
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  readonly quarantined: readonly string[];
}

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
    for (const tool of options.tools ?? []) await engine.register(tool);
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
  readonly #scheduler: Scheduler;
  readonly #executor: Executor;
  readonly #broker: Broker;
  readonly #metrics: Metrics;
  #state: EngineStats["state"] = "open";
  #closing: Promise<void> | null = null;
  #lastRun = 0;
  #lastKey = 0;

  private constructor(options: ResolvedOptions, prelude: string) {
    this.#options = options;
    this.#scheduler = new Scheduler(options.queue);
    this.#broker = new Broker(options.capabilities, options.policy, (outcome) => {
      this.#events.emit("capability:call", outcome);
    });
    this.#executor = createExecutor(options.executor, {
      workers: options.workers,
      prelude,
      entropyKey: randomBytes(32).toString("hex"),
      nextRun: () => ++this.#lastRun,
      onEvent: (event) => emitExecutorEvent(this.#events, event),
    });
    const names = options.capabilities.map(({ name }) => name);
    this.#metrics = new Metrics(this.#events, this.#sources(), names, options.registry);
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
  async register(tool: ToolDefinition | string): Promise<ToolInfo> {
    this.#requireOpen();
    const inputs = typeof tool === "string" ? await findSources(tool) : [tool];
    const { limits, maxLimits } = this.#options;
    const prepared: RegisteredTool[] = [];
    for (const input of inputs) {
      const context = {
        inspect: (script: RegisteredTool["script"]) => {
          this.#requireOpen();
          return this.#executor.inspect(script);
        },
        nextKey: () => `${++this.#lastKey}`,
        limits,
        maxLimits,
      };
      prepared.push(await prepareTool(input, context));
    }
    this.#requireOpen();
    for (const each of prepared) this.#put(each);
    const [first] = prepared;
    if (first === undefined) throw new GloveboxError("load_error", "there is no tool in it");
    return first.info;
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

  /** Runs a call. Never rejects: whatever goes wrong is in the result. */
  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
    const accepted = this.#accept(call, options);
    if (!(accepted instanceof EngineCall)) return this.#settle(accepted, options);
    const blocked = this.#announce(accepted, call);
    if (blocked !== null) return this.#settle(accepted.refuse(toolError("blocked", blocked), 0), options);
    const { usage } = accepted.tool;
    usage.calls++;
    try {
      return this.#settle(await this.#schedule(accepted), options);
    } finally {
      usage.calls--;
      if (usage.retired && usage.calls === 0) this.#executor.forget(accepted.script.key);
    }
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
    const { ready, rssBytes, isolates, quarantined } = this.#executor.stats();
    const executor = { kind: this.#executor.kind, ready, rssBytes };
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

  /** Resolve and validate: a call that may be queued, or the result of one that may not. */
  #accept(call: ToolCall, options: ExecuteOptions): EngineCall | ToolResult {
    const name = typeof call?.name === "string" ? call.name : "";
    const callId = call?.id ?? randomUUID();
    const refuse = (code: ErrorCode, message: string, details?: unknown) =>
      failure(toolError(code, message, details), emptyMetadata(String(callId).slice(0, CALL_ID_MAX), name, 0));
    if (this.#state !== "open") return refuse("engine_closed", "the engine takes no more calls");
    const tool = this.#registry.get(name);
    if (tool === undefined) return refuse("tool_not_found", `there is no tool "${name.slice(0, 128)}"`);
    const wrong = describeMalformed(call, callId);
    if (wrong !== null) return refuse("invalid_arguments", wrong);
    const retryAfterMs = this.#executor.refusedForMs(name);
    if (retryAfterMs > 0) {
      return refuse("tool_quarantined", `tool "${name}" has ended too many executors`, { retryAfterMs });
    }
    const limits = this.#limitsOf(tool, options);
    if (typeof limits === "string") return refuse("invalid_arguments", limits);
    const args = writeArguments(tool, call.arguments ?? {}, limits);
    if (typeof args !== "string") return refuse(args.code, args.message, args.details);
    return new EngineCall(++this.#lastRun, callId, tool, args, limits, options, this.#broker);
  }

  #limitsOf(tool: RegisteredTool, options: ExecuteOptions): Limits | string {
    if (options.limits === undefined) return tool.limits;
    try {
      return resolveLimits(tool.limits, options.limits, this.#options.maxLimits);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Tells `tool:pre`; answers the reason of a listener that refuses. */
  #announce({ callId, tool, tenant }: EngineCall, call: ToolCall): string | null {
    if (!this.#events.has("tool:pre")) return null;
    let reason: string | null = null;
    const block = (why: string) => {
      reason ??= String(why).slice(0, 1_000);
    };
    this.#events.emit("tool:pre", { callId, tool: tool.info.name, tenant, call, block });
    return reason;
  }

  /** Waits for a slot, then dispatches. */
  async #schedule(call: EngineCall): Promise<ToolResult> {
    const { signal, priority = 0 } = call.options;
    const request = { tool: call.tool.info.name, tenant: call.tenant, priority, queueMs: call.limits.queueMs, signal };
    const outcome = await this.#scheduler.run(request, async (queueMs) => {
      const reply = signal === undefined ? await this.#dispatch(call) : await this.#dispatchCancellable(call, signal);
      return call.conclude(reply, queueMs);
    });
    if (!(outcome instanceof Refusal)) return outcome;
    const { code, message, retryAfterMs, queueMs } = outcome;
    return call.refuse(toolError(code, message, retryAfterMs === undefined ? undefined : { retryAfterMs }), queueMs);
  }

  /** Runs the call; again, where it failed in a way that may pass and its tool asks for retries. */
  async #dispatch(call: EngineCall): Promise<Reply> {
    let reply = await this.#executor.run(call);
    for (let retry = 0; retry < call.tool.retries; retry++) {
      const { outcome } = reply;
      if (outcome.ok || !toolError(outcome.failure.code, "").retryable || call.options.signal?.aborted) break;
      const { attempts } = reply;
      call.renew();
      reply = await this.#executor.run(call);
      reply = { ...reply, attempts: reply.attempts + attempts };
    }
    return reply;
  }

  async #dispatchCancellable(call: EngineCall, signal: AbortSignal): Promise<Reply> {
    const cancel = () => this.#executor.cancel(call.run, "cancelled", "the call was cancelled while it ran");
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#dispatch(call);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  #settle(result: ToolResult, options: ExecuteOptions): ToolResult {
    const name = result.success ? "tool:post" : "tool:error";
    const { callId, tool } = result.metadata;
    this.#events.emit(name, { callId, tool, tenant: options.tenant ?? "", result });
    return result;
  }

  #put(tool: RegisteredTool): void {
    const { name } = tool.info;
    const old = this.#registry.get(name);
    this.#registry.set(tool);
    if (old !== undefined) this.#retire(old);
    this.#events.emit("tool:register", { info: tool.info, replaced: old !== undefined });
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
    this.#state = "closed";
    open--;
    if (open === 0) await stopBundler();
  }

  #requireOpen(): void {
    if (this.#state !== "open") throw new GloveboxError("engine_closed", "the engine takes no more tools");
  }

  #sources() {
    return { scheduler: () => this.#scheduler.stats(), executor: () => this.#executor.stats() };
  }
}
