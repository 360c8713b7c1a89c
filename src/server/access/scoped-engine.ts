import { isAmong } from "../../kernel/base/name-patterns.ts";
import { type CodeMode, CodeModeCache, type ProgramRunner } from "../../code-mode/code-mode.ts";
import { isCodeTool, RUN_CODE } from "../../code-mode/model-tools.ts";
import type { CodeModeOptions } from "../../kernel/engine/code-mode-options.ts";
import type { ManPages } from "../mcp/resources.ts";
import type { Registry } from "../../contrib/agentspace/registry.ts";
import type { ModelToolsSource } from "../../kernel/engine/model/model-tools.ts";
import { ownWaits } from "../../kernel/engine/model/own-waits.ts";
import type { ToolDescription } from "../../kernel/tool/contracts/contract.ts";
import type { ModelOptions, ModelRunner, OwnWaits, ToolRunner } from "../../kernel/tool/contracts/runner.ts";
import type { CallComparison } from "../../kernel/engine/call-history.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import type { Readmit, Readmitted } from "../../kernel/engine/durable/readmission.ts";
import type { CallReplay } from "../../kernel/engine/replay/call-replays.ts";
import { GloveboxError, toolError } from "../../kernel/base/errors.ts";
import type { RequestRefusal } from "../../kernel/engine/telemetry/events.ts";
import type { CallOrigin, ExecuteOptions } from "../../kernel/engine/execute-options.ts";
import type { SnippetAuthor } from "../../kernel/engine/snippets/snippet.ts";
import type { Explanation } from "../../kernel/engine/explanation.ts";
import type { PolicySimulation, PolicySimulationRequest } from "../../kernel/engine/policy/simulation.ts";
import { refusedCall, type ToolCall, type ToolResult } from "../../kernel/base/result.ts";
import type { CallFilter, CallPage, CallSummary, StoredCall } from "../../kernel/store/calls/call-record.ts";
import type { ToolInfo } from "../../kernel/tool/definition.ts";
import type { Standing } from "./budget.ts";
import type { Caller, Role } from "./caller.ts";
import { CallerDurableCalls } from "./durable-access.ts";
import { Guest } from "./guests.ts";
import { type Holder, Holders } from "./holders.ts";
import { Keys } from "./keys.ts";

/** Maximum priority of calls by keys without the role "admin". */
const PRIORITY_MAX = 0;
const NO_STANDINGS: readonly Standing[] = Object.freeze([]);

/** Runs tools and programs with one caller's permissions, and emits changes of the registered tools. */
export interface CallerRunner extends ProgramRunner {
  /** The manual pages of AgentSpace's registry, if there is one. */
  readonly manPages?: ManPages;
  on(event: "tool:register" | "tool:unregister", listener: () => void): void;
  off(event: "tool:register" | "tool:unregister", listener: () => void): void;
}

type Run = (options: ExecuteOptions) => Promise<ToolResult>;

/** A change of the registered tools. */
export interface ToolChange {
  readonly info?: ToolInfo;
  readonly tenant?: string;
}

/** Records that a caller may see. */
export interface RecordScope {
  readonly tenant?: string;
  readonly ids?: readonly string[];
}

/** The engine as surfaces use it for a caller, restricted to that caller's grant. */
export class ScopedEngine {
  readonly #engine: Engine;
  readonly #keys: Keys;
  /** Loads the tools of its records when they are first called. */
  readonly #registry: Registry | null;
  readonly #holders: Holders;
  /** Code mode of the engine's present options. */
  #code: { readonly of: CodeModeOptions; readonly cache: CodeModeCache } | null = null;

  constructor(engine: Engine, keys = new Keys([]), registry: Registry | null = null) {
    this.#engine = engine;
    this.#keys = keys;
    this.#holders = new Holders(keys);
    this.#registry = registry;
  }

  /**
   * Runs a call as the caller's tenant, within its tools and limits, and charges it to the key. A repeat with the same
   * `idempotencyKey` counts as a call but uses no CPU time. Never rejects.
   */
  execute(caller: Caller, call: ToolCall, options: ExecuteOptions): Promise<ToolResult> {
    if (isCodeTool(call?.name) && this.#engine.codeMode !== undefined && this.mayName(caller, call.name)) {
      return this.codeModeFor(caller).execute(call, options);
    }
    // A caller without a key has no account and no restrictions: the engine's own promise suffices.
    if (caller.key === null && caller.tenant === null) return this.#run(call, options);
    return this.#within(caller, call, options, (narrowed) => this.#run(call, narrowed));
  }

  /** `run_code` and `search_tools` with one caller's permissions. Throws a `TypeError` if there is no code mode. */
  codeModeFor(caller: Caller, surface = "http"): CodeMode {
    const { codeMode } = this.#engine;
    if (codeMode === undefined) throw new TypeError("the engine has no code mode: set its option codeMode");
    if (this.#code?.of !== codeMode) this.#code = { of: codeMode, cache: new CodeModeCache(codeMode) };
    return this.#code.cache.over(this.runnerFor(caller, surface));
  }

  /** Runs a call's work with the caller's permissions. */
  async #within(caller: Caller, call: ToolCall, options: ExecuteOptions, run: Run): Promise<ToolResult> {
    const holder = this.#holderOf(caller);
    // A surface may keep a caller across a change of its key's grant: use the current one.
    const { tenant: own } = holder?.grant ?? caller;
    if (own !== null && options.tenant !== undefined && options.tenant !== own) {
      return this.#refuse(caller, call, "forbidden", otherTenant(caller));
    }
    const tenant = own ?? options.tenant;
    const whose = tenant === undefined ? options : { ...options, tenant };
    if (caller.key === null) return run(whose);
    if (holder === undefined) return this.#refuse(caller, call, "unauthorized", "the key has been removed");
    const refusal = await holder.account.take();
    if (refusal !== null) {
      const { message, ...details } = refusal;
      return this.#refuse(caller, call, "rate_limited", message, details);
    }
    const result = await run(this.#narrow(holder, whose));
    this.#engine.emit("key:call", { key: holder.grant.name, code: result.error?.code ?? "ok" });
    return result;
  }

  /** A runner bound to one caller, for surfaces that keep a caller for longer than one request. */
  runnerFor(caller: Caller, surface = "http"): CallerRunner {
    const origin = { surface, key: caller.key };
    const runner: Omit<CallerRunner, "forModels"> = {
      list: () => this.list(caller),
      get: (name) => this.get(caller, name) ?? this.#describe(caller, name),
      execute: (call, options = {}) => this.execute(caller, call, { origin, ...options }),
      runProgram: (call, source, options = {}) =>
        this.#within(caller, call, { origin, ...options }, (narrowed) =>
          this.#engine.runProgram(call, source, narrowed),
        ),
      answer: (call, work, options = {}) =>
        this.#within(caller, call, { origin, ...options }, (narrowed) => this.#engine.answer(call, work, narrowed)),
      within: (call, options, work) =>
        this.#within(caller, call, { origin, ...options }, (narrowed) => work(this.#engine, narrowed)),
      ...this.#changesFor(caller),
      ...this.#manPagesFor(caller),
    };
    return { ...runner, forModels: (options) => this.#modelToolsFor(caller, runner, origin, options) };
  }

  /**
   * The caller's tools in the form for models. They read the outputs of its key's own calls, for any tools in the key.
   */
  #modelToolsFor(
    caller: Caller,
    runner: ToolRunner,
    origin: CallOrigin,
    { modelChars }: ModelOptions = {},
  ): ModelRunner {
    const source: ModelToolsSource = {
      ...runner,
      answer: (call, work, options) =>
        this.#within(caller, call, { origin, ...options }, ({ tools: _any, ...others }) =>
          this.#engine.answer(call, work, others),
        ),
      ownerOf: ({ tenant }) => ({ tenant: this.#whose(caller).tenant ?? tenant ?? "", key: caller.key }),
      mayName: (tool) => this.mayName(caller, tool),
      waits: ({ tenant } = {}) => this.#waitsOf(caller, tenant),
      mayWait: () => this.list(caller).some(({ name }) => this.#engine.calls.mayWait(name, this.#whose(caller))),
    };
    return this.#engine.modelTools(source, modelChars);
  }

  /** Reports changes, except those of other tenants' tools. */
  #changesFor(caller: Caller): Pick<CallerRunner, "on" | "off"> {
    const heard = new Map<() => void, (change: ToolChange) => void>();
    return {
      on: (event, listener) => {
        const hear = ({ info, tenant = info?.tenant }: ToolChange): void => {
          if (tenant === undefined || tenant === this.#whose(caller).tenant) listener();
        };
        heard.set(listener, heard.get(listener) ?? hear);
        this.#engine.on(event, heard.get(listener) ?? hear);
      },
      off: (event, listener) => void this.#engine.off(event, heard.get(listener) ?? listener),
    };
  }

  /** The tool of a record that was not called yet. */
  #describe(caller: Caller, name: string): ToolDescription | undefined {
    return this.mayName(caller, name) ? this.#registry?.describe(name, this.#whose(caller)) : undefined;
  }

  /** Manual pages of the registry's tools for one caller, if there is a registry. */
  #manPagesFor(caller: Caller): { readonly manPages?: ManPages } {
    const registry = this.#registry;
    if (registry === null) return {};
    const manPages: ManPages = {
      page: (after) => registry.page({ ...this.recordsOf(caller), after }),
      read: (id) => (this.mayName(caller, id) ? registry.manPage(id, this.#whose(caller)) : undefined),
    };
    return { manPages };
  }

  /** Whether a caller admitted earlier would still be admitted with this role. */
  stillAdmits(caller: Caller, role: Role): boolean {
    if (caller instanceof Guest) return caller.roles.has(role) && Date.now() < caller.expiresMs;
    return (
      caller.key === null ||
      (this.#keys.stillKnows(caller) && this.#holderOf(caller)?.grant.roles.includes(role) === true)
    );
  }

  /** Whether a key may continue a call that it has made before, and with which permissions. */
  readonly readmit: Readmit = ({ key, tenant, tool }) => {
    if (this.#keys.size === 0) return null;
    const holder = this.#holders.of(key);
    if (holder === undefined)
      return goneWith("unauthorized", `the key "${key}", which made the call, has been removed`);
    const { grant } = holder;
    const isOfTenant = grant.tenant === null || grant.tenant === tenant;
    if (!isOfTenant)
      return goneWith("forbidden", `the key "${key}", which made the call, belongs to another tenant now`);
    if (!grant.roles.includes("execute") || (tool !== null && !isAmong(grant.tools, tool)))
      return goneWith("forbidden", `the key "${key}", which made the call, may not call "${tool ?? "tools"}" any more`);
    return { kind: "admitted", options: this.#narrow(holder, {}) };
  };

  /** The tools that a caller may call. */
  list(caller: Caller): readonly ToolInfo[] {
    return this.#engine.list(this.#whose(caller)).filter(({ name }) => this.mayName(caller, name));
  }

  get(caller: Caller, name: string): ToolInfo | undefined {
    return this.mayName(caller, name) ? this.#engine.get(name, this.#whose(caller)) : undefined;
  }

  /**
   * The registry's records that a caller may see: those of its tenant and of all tenants, if it may call their tools.
   */
  recordsOf(caller: Caller): RecordScope {
    const tools = this.#holderOf(caller)?.grant.tools;
    return { ...this.#whose(caller), ...(tools === undefined ? {} : { ids: tools }) };
  }

  /** Kept calls of the caller's tenant and tools. Rejects as `engine.calls.list` does. */
  listCalls(caller: Caller, filter: CallFilter): Promise<CallPage> {
    return this.#engine.calls.list({ ...filter, ...this.#mayRead(caller) });
  }

  /** A kept call, if it belongs to the caller's tenant and tools. Rejects as `engine.calls.get` does. */
  getCall(caller: Caller, id: string): Promise<StoredCall | undefined> {
    return this.#engine.calls.get(id, this.#mayRead(caller));
  }

  /**
   * Runs a kept call again, and charges it to the key as a call. Rejects as `engine.calls.replay` does, and with a
   * `GloveboxError`, `rate_limited`.
   */
  async replayCall(caller: Caller, id: string): Promise<CallReplay | undefined> {
    const holder = this.#holderOf(caller);
    const refusal = (await holder?.account.take()) ?? null;
    if (refusal !== null) throw new GloveboxError("rate_limited", refusal.message, refusal);
    const { onCpu } = holder === undefined ? {} : this.#narrow(holder, {});
    return this.#engine.calls.replay(id, this.#mayRead(caller), onCpu === undefined ? {} : { onCpu });
  }

  /** Compares two kept calls of the caller's tenant and tools. Rejects as `engine.calls.compare` does. */
  compareCalls(caller: Caller, id: string, other: string): Promise<CallComparison | undefined> {
    return this.#engine.calls.compare(id, other, this.#mayRead(caller));
  }

  /** Further kept calls of the caller's tenant and tools, while the caller may read them. */
  watchCalls(caller: Caller, filter: CallFilter, signal: AbortSignal): AsyncIterable<CallSummary> {
    const holders = [
      ...(caller.key === null ? [] : [`key "${caller.key}"`]),
      ...(caller.tenant === null ? [] : [`tenant "${caller.tenant}"`]),
    ];
    const watched = this.#engine.calls.watch({ ...filter, ...this.#mayRead(caller) }, { signal, holders });
    return this.#permitted(caller, watched);
  }

  async *#permitted(caller: Caller, calls: AsyncIterable<CallSummary>): AsyncGenerator<CallSummary> {
    for await (const call of calls) {
      if (!this.stillAdmits(caller, "calls")) return;
      if (this.mayName(caller, call.tool)) yield call;
    }
  }

  /** Calls that wait, of the caller's tenant and tools. */
  durableFor(caller: Caller): CallerDurableCalls {
    return new CallerDurableCalls(this.#engine.calls.durable, caller, this.#mayRead(caller));
  }

  /**
   * The caller as an author of snippets: of its tenant, or of the tenant named by a caller without one. Throws a
   * `GloveboxError`.
   */
  authorOf(caller: Caller, tenant: string | undefined): SnippetAuthor {
    const whose = this.#mayRead(caller);
    if (whose.tenant === undefined) return { ...whose, tenant, key: caller.key };
    if (tenant !== undefined && tenant !== whose.tenant) throw new GloveboxError("forbidden", otherTenant(caller));
    return { ...whose, key: caller.key };
  }

  /** Calls that the caller has made, and that wait. */
  #waitsOf(caller: Caller, tenant: string | undefined): OwnWaits {
    const whose = { ...(tenant === undefined ? {} : { tenant }), ...this.#mayRead(caller), key: caller.key };
    const identity = caller instanceof Guest ? caller.identity : JSON.stringify([caller.key, caller.tenant]);
    const mayDecide = (): boolean => this.stillAdmits(caller, "approve");
    return ownWaits(this.#engine.calls.durable, whose, { identity, mayDecide });
  }

  /** Simulates a policy, with the stored calls that the caller may see. Rejects as `engine.simulatePolicy` does. */
  simulatePolicy(caller: Caller, request: PolicySimulationRequest): Promise<PolicySimulation> {
    return this.#engine.simulatePolicy(request, caller.roles.has("calls") ? this.#mayRead(caller) : null);
  }

  #mayRead(caller: Caller): Pick<CallFilter, "tenant" | "tools"> {
    const holder = this.#holderOf(caller);
    const tools = caller.key !== null && holder === undefined ? [] : holder?.grant.tools;
    return { ...this.#whose(caller), ...(tools === undefined ? {} : { tools }) };
  }

  /** The caller's remaining rate and quota, for each that its key sets. */
  async standings(caller: Caller): Promise<readonly Standing[]> {
    return (await this.#holderOf(caller)?.account.standings()) ?? NO_STANDINGS;
  }

  /** Whether the caller's grant includes a tool name; the tool need not exist. */
  mayName(caller: Caller, tool: string): boolean {
    if (caller.key === null) return true;
    const holder = this.#holderOf(caller);
    return holder !== undefined && isAmong(holder.grant.tools, tool);
  }

  #whose(caller: Caller): { readonly tenant?: string } {
    return tenantOf(this.#holderOf(caller)?.grant ?? caller);
  }

  /** Loads a tool of the registry before its first call, if the call may name it. */
  #run(call: ToolCall, options: ExecuteOptions): Promise<ToolResult> {
    const registry = isAmong(options.tools, call?.name) ? this.#registry : null;
    if (registry === null) return this.#engine.execute(call, options);
    return registry.prepare(call, options).then((failed) => failed ?? this.#engine.execute(call, options));
  }

  /** `undefined` if the caller has no key, or its key was removed. */
  #holderOf(caller: Caller): Holder | undefined {
    if (caller instanceof Guest) return caller;
    return caller.key === null ? undefined : this.#holders.of(caller.key);
  }

  #narrow(holder: Holder, options: ExecuteOptions): ExecuteOptions {
    const { grant, account } = holder;
    const { name, roles, tools, limits } = grant;
    const { priority } = options;
    const isRaised = priority !== undefined && priority > PRIORITY_MAX && !roles.includes("admin");
    return {
      ...options,
      ...(isRaised ? { priority: PRIORITY_MAX } : {}),
      ...(tools === undefined ? {} : { tools }),
      ...(limits === undefined ? {} : { maxLimits: limits }),
      ...(holder instanceof Guest ? {} : { origin: { ...options.origin, key: name, isKeyChecked: true } }),
      onCpu: (cpuMs) => {
        account.charge(cpuMs);
        this.#engine.emit("key:cpu", { key: name, cpuMs });
      },
    };
  }

  /** The result of a call refused before it reached the engine. */
  #refuse(
    { key }: Caller,
    call: ToolCall,
    code: RequestRefusal["code"],
    reason: string,
    details?: unknown,
  ): ToolResult {
    this.#engine.emit("request:refused", { code, key, address: null, reason });
    if (key !== null) this.#engine.emit("key:call", { key, code });
    return refusedCall(call, toolError(code, reason, details));
  }

  /** Explains a tool's grant for the caller's tenant, or for `tenant` if the key has no tenant of its own. */
  explain(caller: Caller, name: string, tenant: string): Explanation | undefined {
    const isProgram = name === RUN_CODE && this.#engine.codeMode !== undefined && this.mayName(caller, name);
    if (!isProgram && this.get(caller, name) === undefined) return undefined;
    const tools = this.#holderOf(caller)?.grant.tools;
    return this.#engine.explain(name, { tenant, tools, ...this.#whose(caller) });
  }
}

function otherTenant(caller: Caller): string {
  return `the ${caller instanceof Guest ? "caller" : "key"} belongs to another tenant than options.tenant`;
}

function goneWith(code: "unauthorized" | "forbidden", message: string): Readmitted {
  return { kind: "refused", code, message };
}

/** The tenant, if the caller is bound to one. */
function tenantOf({ tenant }: Pick<Caller, "tenant">): { readonly tenant?: string } {
  return tenant === null ? {} : { tenant };
}
