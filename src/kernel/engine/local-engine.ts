import type { BegunLogin, ConnectorStatus, FinishedLogin } from "../base/connector-report.ts";
import type { Registry } from "prom-client";
import { type Assembly, assemble, type Loaded } from "./assembly.ts";
import { loadExecutor, loadStores } from "./create-executor.ts";
import type { CallHistory } from "./call-history.ts";
import type { LoadTool } from "./call/tool-loaders.ts";
import { isStored, mayHaveWaiting } from "./call-options.ts";
import type { CodeModeOptions } from "./code-mode-options.ts";
import type { AnswerWork, ExecuteOptions } from "./execute-options.ts";
import { type Explanation, explainTool, identityOf, lintAll, type ToolFinding } from "./explanation.ts";
import { within } from "../base/deadline.ts";
import { GloveboxError } from "../base/errors.ts";
import type { SurfaceEvent, EventName, Listener, Reconfigured } from "./telemetry/events.ts";
import { hearMachine } from "./telemetry/events.ts";
import { explainRunCode } from "./program-explanation.ts";
import { loadPrelude } from "../tool/runtimes/prelude.ts";
import { type EngineOptions, type ResolvedOptions, resolveModelChars, type ToolSource } from "./options.ts";
import { type Recording, toRecordedTool } from "./replay/recording.ts";
import { ModelTools, type ModelToolsSource, sourceOf } from "./model/model-tools.ts";
import type { PolicySimulation, PolicySimulationRequest, WhoseCalls } from "./policy/simulation.ts";
import { Reconfiguration } from "./reconfiguration.ts";
import { type EngineStats, statsOf } from "./engine-stats.ts";
import type { ToolCall, ToolResult } from "../base/result.ts";
import type { MetricsFormat } from "../base/open-metrics.ts";
import { HostAccount, type HostUsage } from "../base/tenant-account.ts";
import { startBundler, stopBundler } from "../tool/bundle/bundle.ts";
import { OPERATOR, type Policy } from "../broker/policy.ts";
import type { RuleOffer } from "../broker/rule-offer.ts";
import { type DeclareOptions, declareTools } from "../tool/declarations/declare-tools.ts";
import { prepareDefinitions, type ToolInfo, type ToolLocation } from "../tool/definition.ts";
import { PROGRAM_NAMES, type ProgramHost, type ProgramSource } from "../tool/program/program.ts";
import type { ModuleReport } from "../tool/registrar.ts";
import type { ModelOptions, ModelRunner } from "../tool/contracts/runner.ts";
import type { Snippets } from "./snippets/snippet.ts";
import { StoreProbes } from "./store-probes.ts";
import { toolFunctions } from "./tool-functions.ts";

/** The caller whose calls are explained. */
export interface ExplainOptions {
  readonly tenant?: string;
  readonly tools?: readonly string[] | undefined;
}

/** The tenant whose tools are included, beside those of all tenants. */
export interface OfTenant {
  readonly tenant?: string;
}

/** A login to begin. */
export interface ConnectorLoginOptions {
  /** Address to which the browser is sent back: one of the program that the authorization server knows. */
  readonly redirectUri: string;
  /** Tenant of the login, for a connector with `perTenant`. Default: the operator's login. */
  readonly tenant?: string;
}

const DRAIN_DEFAULT_MS = 5_000;

/** Number of open engines in this process: the last one to close stops the bundler they share. */
let open = 0;

/** Runs untrusted tools in this process's executors. Created by `createEngine`; its type outside is `Engine`. */
export class LocalEngine implements AsyncDisposable {
  readonly #parts: Assembly;
  readonly #reconfiguration: Reconfiguration;
  #state: EngineStats["state"] = "open";
  #closing: Promise<void> | null = null;
  readonly #hurry = Promise.withResolvers<void>();
  readonly #machine: Disposable;
  #probes: StoreProbes | null = null;

  private constructor(given: EngineOptions, options: ResolvedOptions, loaded: Loaded) {
    this.#parts = assemble(options, loaded);
    const { events } = this.#parts;
    this.#machine = hearMachine(events);
    this.#reconfiguration = new Reconfiguration(given, options, this.#parts);
  }

  /** @internal Use `createEngine`. */
  static async start(given: EngineOptions, options: ResolvedOptions): Promise<LocalEngine> {
    const [createExecutor, prelude] = await Promise.all([
      loadExecutor(options.executor),
      loadPrelude(options.plugins.parts),
    ]);
    await loadStores(options);
    const engine = new LocalEngine(given, options, { createExecutor, prelude });
    open++;
    try {
      startBundler();
      engine.#parts.broker.start();
      const started = engine.#parts.executor.start();
      // The processor is free while the executor's process starts.
      setImmediate(prepareDefinitions);
      const probing = StoreProbes.open(options, engine.#parts).then((probes) => (engine.#probes = probes).settled());
      await Promise.all([started, probing]);
      await engine.#reconfiguration.apply(given);
      if (isStored(options.calls)) await engine.#parts.snippets.start();
      if (mayHaveWaiting(options.calls) || options.notify.length > 0) void engine.#parts.durable.start();
      return engine;
    } catch (error) {
      await engine.close({ drainMs: 0 });
      throw error;
    }
  }

  /**
   * Registers a tool, or replaces the tool of that name: calls in flight end on the old version, later calls use the
   * new one. A string is the path of a module file or of a folder of them. Several tools are registered all or not at
   * all, and the info of the first is returned. `registrant`: the owner; one other than `operator`, the default,
   * replaces its own tools only. `tenant`: only calls of that tenant find the tool, before a tool of all tenants with
   * the same name. Rejects with a `GloveboxError`: `load_error`, `engine_closed`, `forbidden`.
   */
  async register(
    tool: ToolSource,
    { registrant = OPERATOR, tenant }: { readonly registrant?: string; readonly tenant?: string } = {},
  ): Promise<ToolInfo> {
    const whose = tenant === undefined || tenant === "" ? { registrant } : { registrant, tenant };
    const prepared = await this.#parts.registrar.prepare(tool, whose);
    this.#parts.tools.putAll(prepared);
    if (prepared[0] === undefined) throw new GloveboxError("load_error", "the location contains no tool");
    return prepared[0].info;
  }

  /**
   * Applies new options without losing a call: registers new and changed tools, removes tools that only the earlier
   * options contained, and replaces policy and limits. `options` is complete, except for `plugins`, which cannot
   * change. If anything is invalid, nothing changes and it rejects as `createEngine` does. Running calls keep their
   * grants. Resolves with the changes, and with the options that need a restart.
   */
  async reconfigure(options: EngineOptions): Promise<Reconfigured> {
    const changed = await this.#reconfiguration.apply(options);
    this.#parts.events.emit("engine:reconfigure", changed);
    return changed;
  }

  /**
   * Replaces the policy for calls that start from now on; running calls keep their grants. Throws a `TypeError` that
   * points at the error, and then changes nothing.
   */
  setPolicy(policy: Policy): void {
    this.#reconfiguration.setPolicy(policy);
  }

  /**
   * Descriptions of the modules at a location, in the terms of their contracts and unchecked, for diagnosis. Registers
   * no tool. Rejects as `register` does.
   */
  describe(location: ToolLocation | string): Promise<readonly ModuleReport[]> {
    return this.#parts.registrar.describe(location);
  }

  /** Removes a tool; calls in flight end normally. Resolves with whether the tool existed. `tenant`: its owner. */
  async unregister(name: string, { tenant }: OfTenant = {}): Promise<boolean> {
    return this.#parts.tools.remove(name, tenant === "" ? undefined : tenant);
  }

  /** The tools for a tenant's calls; without one, the tools of all tenants. */
  list({ tenant }: OfTenant = {}): ToolInfo[] {
    return this.#parts.registry.list(tenant);
  }

  /** The tool of this name for a tenant's calls; without one, the tool of all tenants. */
  get(name: string, { tenant }: OfTenant = {}): ToolInfo | undefined {
    return this.#parts.registry.get(name, tenant)?.info;
  }

  /**
   * A file of TypeScript with the types of all tools, like that of `glovebox types`: the arguments and the answers of
   * each. `register`: also for engines and clients made without type arguments.
   */
  types(options: DeclareOptions = {}): string {
    return declareTools(this.list(), options);
  }

  /**
   * Grants and limits of a tool's calls for a tenant, the source of each, and denied requests. `undefined` if there is
   * no such tool. `run_code` is one if the engine has the option `codeMode`: then `tools`, names of the tools that the
   * caller may call, narrows those of its programs.
   */
  explain(name: string, { tenant = "", tools }: ExplainOptions = {}): Explanation | undefined {
    const { codeMode } = this;
    if (name === PROGRAM_NAMES.tools && codeMode !== undefined)
      return explainRunCode(this.#parts, codeMode, { tenant, tools });
    const tool = this.#parts.registry.get(name, tenant);
    return tool && explainTool(tool, tenant, this.#parts);
  }

  /** @internal The least rule that grants all requests of a tool's calls. `undefined` if there is no such tool. */
  offerRule(name: string, { tenant = "" }: OfTenant = {}): RuleOffer | undefined {
    const tool = this.#parts.registry.get(name, tenant);
    return tool && this.#parts.broker.grants.offer({ ...identityOf(tool), tenant }, tool.capabilities);
  }

  /** Policy rules that grant nothing, and capability requests that no rule grants. Runs no tool. */
  lint(): readonly ToolFinding[] {
    return lintAll(this.#parts.registry, this.#parts.broker);
  }

  /**
   * Examines a policy without putting it in force: its mistakes, its grants to a tool, and its answers to stored calls
   * of the last day. Runs no tool and writes nothing. `whose`: the stored calls that may be read; `null` for none.
   * Rejects with a `GloveboxError`: `invalid_arguments`, `tool_not_found`.
   */
  async simulatePolicy(request: PolicySimulationRequest, whose: WhoseCalls = {}): Promise<PolicySimulation> {
    const { simulatePolicy } = await import("./policy/simulation.ts");
    return simulatePolicy(this.#parts, request, whose);
  }

  /** Runs a call. Never rejects: an error is part of the result. */
  execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
    return this.#parts.pipeline.execute(call, options);
  }

  /**
   * The tools for a model: with `read_output`, and with outputs cut that are longer than `modelChars`. Functions that
   * call tools for a model, such as `callTools`, a server of MCP and adapters, take the engine itself, too.
   */
  forModels({ modelChars }: ModelOptions = {}): ModelRunner {
    return this.modelTools(sourceOf(this), modelChars);
  }

  /** @internal The tools of a part of the engine for a model. */
  modelTools(source: ModelToolsSource, modelChars?: number): ModelRunner {
    return new ModelTools(
      source,
      () => this.#parts.modelOutputs.get(),
      resolveModelChars(modelChars, this.#reconfiguration.modelChars),
    );
  }

  /** Options of code mode, if the engine's surfaces have it. The same object until it is reconfigured. */
  get codeMode(): CodeModeOptions | undefined {
    return this.#reconfiguration.codeMode;
  }

  /**
   * @internal Runs the program of a call in an isolate of its own. Its output has the `value`. Rejects with a
   * `RangeError` if one of its limits is invalid; any other error is part of the result.
   */
  runProgram(call: ToolCall, source: ProgramSource, options: ExecuteOptions = {}): Promise<ToolResult> {
    return this.#parts.pipeline.runProgram(call, source, options);
  }

  /** @internal Has programs prepared that continue after a wait, and checked before they are saved as snippets. */
  programsWith(host: ProgramHost): void {
    this.#parts.programHost.is = host;
  }

  /** @internal Has `load` called before each child call: some tools are registered at their first call. */
  loadWith(load: LoadTool): Disposable {
    return this.#parts.pipeline.loaders.add(load);
  }

  /** @internal Answers a call of a tool of the host itself, such as `search_tools`. */
  answer(call: ToolCall, work: AnswerWork, options: ExecuteOptions = {}): Promise<ToolResult> {
    return this.#parts.pipeline.answer(call, work, options);
  }

  /** @internal Charges a caller processor time of its program outside of executors, in milliseconds. */
  charge(cpuMs: number, { tenant, onCpu }: ExecuteOptions): void {
    this.#parts.broker.accounts.of(tenant ?? "").spendExecutor(cpuMs);
    if (onCpu !== undefined) this.#parts.events.call("onCpu", () => onCpu(cpuMs));
  }

  /** The tools as functions, by their names at the time of the call. A call of another name ends with `tool_not_found`. */
  readonly tools = toolFunctions(
    (call, options) => this.execute(call, options),
    (name) => this.get(name) !== undefined,
  );

  /** @internal Paths of all files from which the operator's tools were made. */
  sourceFiles(): ReadonlySet<string> {
    return new Set(this.#parts.registry.all().flatMap(({ files }) => files));
  }

  /** @internal The tool of this name as recordings hold it. */
  recordedTool(name: string): Recording["tool"] | undefined {
    const tool = this.#parts.registry.get(name);
    return tool && toRecordedTool(tool);
  }

  /** The calls that it has kept, if it has the option `calls`. */
  get calls(): CallHistory {
    return this.#parts.calls;
  }

  /** Programs that are tools of one tenant each, in the store of calls, or else in memory. */
  get snippets(): Snippets {
    return this.#parts.snippets;
  }

  /** The connectors, in their present state. */
  connectors(): readonly ConnectorStatus[] {
    return this.#parts.sources.list();
  }

  /**
   * Reads a connector's tools again, and registers them. Rejects with a `GloveboxError`: `tool_not_found` if there is
   * no such connector, `load_error` if its document or its server cannot be read.
   */
  refreshConnector(name: string): Promise<ConnectorStatus> {
    return this.#parts.sources.refresh(name);
  }

  /** @internal Names of the connectors that need a login: the operator's, or that of a tenant. */
  get needLogin(): readonly string[] {
    return this.#parts.sources.needLogin();
  }

  /**
   * Begins the login of a connector with an `auth` of the kind `authorizationCode`, which a person finishes in a
   * browser. `redirectUri`: address to which the browser is sent back, the argument of `finishConnectorLogin`. Rejects
   * with a `GloveboxError`: `tool_not_found`, `invalid_arguments` or `capability_failed`.
   */
  loginConnector(name: string, { redirectUri, tenant = "" }: ConnectorLoginOptions): Promise<BegunLogin> {
    return this.#parts.sources.login(name, { redirectUri, tenant });
  }

  /** Finishes a login, which is stored, sealed. Rejects with a `GloveboxError`. */
  finishConnectorLogin(callback: URL | string): Promise<FinishedLogin> {
    return this.#parts.sources.finishLogin(new URL(callback));
  }

  on<Name extends EventName>(event: Name, listener: Listener<Name>): this {
    this.#parts.events.on(event, listener);
    return this;
  }

  off<Name extends EventName>(event: Name, listener: Listener<Name>): this {
    this.#parts.events.off(event, listener);
    return this;
  }

  /** @internal Emits an event of a surface before the engine, such as HTTP. */
  emit(...event: SurfaceEvent): void {
    this.#parts.events.emit(...event);
  }

  /** The metrics as text. Default format: `prometheus`. */
  metrics({ format = "prometheus" }: { readonly format?: MetricsFormat } = {}): Promise<string> {
    return this.#parts.metrics.text(format);
  }

  /** Registry of the engine's metrics, to which a surrounding service may add its own. */
  get registry(): Registry {
    return this.#parts.metrics.registry;
  }

  stats(): EngineStats {
    return statsOf(this.#parts, this.#state);
  }

  /**
   * The host's work for a tenant since its first call, or for all tenants. A tenant that has been idle for an hour
   * begins again with zeros.
   */
  usage(tenant?: string): HostUsage {
    const { accounts } = this.#parts.broker;
    return (tenant === undefined ? accounts.total : (accounts.find(tenant) ?? new HostAccount(tenant, null))).usage();
  }

  /**
   * Refuses new calls, gives accepted ones at most `drainMs` (default 5,000) to end, ends the rest with
   * `engine_closed`, and stops all threads, processes and timers. `Infinity` waits until the last call has ended. If it
   * closes already, a `drainMs` may shorten that. Rejects with a `RangeError` if it is not a number of at least 0.
   */
  async close({ drainMs: given }: { drainMs?: number } = {}): Promise<void> {
    const drainMs = given ?? (this.#closing ? Infinity : DRAIN_DEFAULT_MS);
    if (typeof drainMs !== "number" || !(drainMs >= 0)) throw new RangeError("drainMs must be a number of at least 0");
    this.#closing ??= this.#close(drainMs);
    if (drainMs < Infinity) void within(drainMs, this.#closing).then(this.#hurry.resolve, this.#hurry.resolve);
    await this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drainMs: number): Promise<void> {
    const { registrar, pipeline, broker, sources, audit, calls, durable, snippets, modelOutputs } = this.#parts;
    this.#state = "draining";
    const reading = snippets.close();
    const stopping = durable.stop();
    registrar.stop();
    await pipeline.close({ isAtOnce: drainMs === 0, hurry: this.#hurry.promise });
    await stopping;
    await sources[Symbol.asyncDispose]();
    await registrar.close();
    await reading;
    await broker.close();
    await audit?.close();
    await calls.close();
    await this.#probes?.[Symbol.asyncDispose]();
    (await modelOutputs.made)?.[Symbol.dispose]();
    this.#machine[Symbol.dispose]();
    this.#state = "closed";
    if (--open === 0) await stopBundler();
  }
}
