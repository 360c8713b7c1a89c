import { isAmong } from "../kernel/base/name-patterns.ts";
import { GloveboxError, toolError } from "../kernel/base/errors.ts";
import { BoundedCache } from "../kernel/base/bounded-cache.ts";
import { emptyMetadata, refusedCall, success, type ToolCall, type ToolResult } from "../kernel/base/result.ts";
import type { ProgramTools } from "../kernel/broker/capabilities/program-tools.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import type { ExecuteOptions } from "../kernel/engine/execute-options.ts";
import type { OfTenant } from "../kernel/engine/local-engine.ts";
import type { ProgramCheck } from "../kernel/engine/telemetry/events.ts";
import type { ToolDescription } from "../kernel/tool/contracts/contract.ts";
import type { OwnWaits, ToolRunner } from "../kernel/tool/contracts/runner.ts";
import { buildProgram, type BuiltProgram } from "../kernel/tool/program/build.ts";
import { problemError, type ProgramProblem, problemsOf } from "../kernel/tool/program/problem.ts";
import {
  type Preparation,
  type ProgramSource,
  type RestoredProgram,
  type StoredProgram,
  type ToolProgram,
  WAIT_CALL,
} from "../kernel/tool/program/program.ts";
import type { CheckedProgram, CheckPayer } from "./check/type-check.ts";
import { type Catalog, CatalogCache, mayCall } from "./catalog.ts";
import type { Declarations } from "./declarations.ts";
import {
  QUERY_MAX,
  RUN_CODE,
  runCodeTool,
  SEARCH_LIMIT,
  SEARCH_LIMIT_MAX,
  SEARCH_TOOL,
  SEARCH_TOOLS,
} from "./model-tools.ts";
import { expressionOf } from "./names.ts";
import { type CodeModeOptions, type ResolvedCodeMode, resolveCodeMode } from "../kernel/engine/code-mode-options.ts";
import { ProgramCalls, programResult, type RunCodeOutput } from "./result.ts";
import type { FoundTools, ToolQuery } from "./search.ts";

/** Runs programs with the permissions in its options. */
interface ProgramHost {
  /** Runs the program that is made of a call. Never rejects because of the program. */
  runProgram(call: ToolCall, source: ProgramSource, options?: ExecuteOptions): Promise<ToolResult>;
  /** Answers a call that runs no tool. A `GloveboxError` with which `work` rejects is its result. */
  answer(call: ToolCall, work: () => Promise<unknown>, options?: ExecuteOptions): Promise<ToolResult>;
  /** Charges the caller processor time that was used for it outside of its calls, in milliseconds. */
  charge?(cpuMs: number, options: ExecuteOptions): void;
  /** Reports checks of programs. */
  emit?(event: "program:check", check: ProgramCheck): void;
}

/** The work of a call, with its caller's permissions. */
export type CallWork = (host: ProgramHost, options: ExecuteOptions) => Promise<ToolResult>;

/** Runs the tools of code mode: an engine, or a part of one. */
export interface ProgramRunner extends ToolRunner, ProgramHost {
  /** Options of code mode that `codeMode` does not name itself. */
  readonly codeMode?: CodeModeOptions | undefined;
  /** `tenant`: its own tools are included. */
  list(of?: OfTenant): readonly ToolDescription[];
  get(name: string, of?: OfTenant): ToolDescription | undefined;
  /** Counts a call, and does its work with its caller's permissions, or refuses it. Default: it does the work. */
  within?(call: ToolCall, options: ExecuteOptions, work: CallWork): Promise<ToolResult>;
  on?(event: ToolsEvent, listener: () => void): unknown;
  off?(event: ToolsEvent, listener: () => void): unknown;
}

/** Events of a runner whose tools change. */
export type ToolsEvent = "tool:register" | "tool:unregister";

/** Options of a program that the embedder runs. */
export interface RunOptions extends ExecuteOptions {
  /** The caller's id of the call. */
  readonly id?: string;
  /** A value that the program sees as `input`. */
  readonly input?: unknown;
}

/** Two tools in place of all: `run_code` and `search_tools`. */
export interface CodeMode extends ToolRunner {
  /** Describes how a program calls a tool, and for an unknown name the similar ones. */
  describeMissing(name: string): string;
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  /** Runs a program, as a call of `run_code` does. */
  run(code: string, options?: RunOptions): Promise<ToolResult<RunCodeOutput>>;
  /** The declarations in the description of `run_code`, for models. Default of `tokens`: that of the options. */
  declarations(options?: { readonly tokens?: number }): Declarations;
  /**
   * Resolves when the description of `run_code` is available at once: after many tools were registered, it takes a
   * while.
   */
  ready(): Promise<void>;
  /** The mistakes of a program, found without running it. Rejects with a `GloveboxError` if it could not be read. */
  check(code: string): Promise<readonly ProgramProblem[]>;
  /** Listens to changes of the tools that programs may call. */
  on(event: ToolsEvent, listener: () => void): void;
  off(event: ToolsEvent, listener: () => void): void;
}

/**
 * Code mode of an engine: a runner with `run_code`, which runs a program of a model over the engine's tools, and
 * `search_tools`, which finds those without room in its description. Every contract writes and reads it like any
 * runner. Throws a `RangeError` or a `TypeError` if an option is invalid.
 */
export function codeMode(runner: Engine | ProgramRunner, options: CodeModeOptions = {}): CodeMode {
  return new CodeModeCache({ ...runner.codeMode, ...options }).over(runner);
}

/** Code mode of several runners of one engine, which share the results for tools and programs. */
export class CodeModeCache {
  readonly options: ResolvedCodeMode;
  readonly catalogs = new CatalogCache();
  /** Programs in the form for the runner, by tenant and text. */
  readonly programs = new BoundedCache<BuiltProgram>(PROGRAMS_MAX, PROGRAM_CHARS_MAX, ({ text }) => text.length);

  /** Throws a `RangeError` or a `TypeError` if an option is invalid. */
  constructor(options: CodeModeOptions) {
    this.options = resolveCodeMode(options);
  }

  over(runner: ProgramRunner): CodeMode {
    return new ProgramTool(runner, this);
  }
}

const PROGRAMS_MAX = 200;
const PROGRAM_CHARS_MAX = 4 * 1024 * 1024;
const DETAILS: readonly unknown[] = ["name", "signature", "full"];

/** The call for which a program is read, or only its tenant. */
type CheckedFor = Omit<Preparation, "callId"> & { readonly callId?: string };

interface ReadProgram {
  readonly built: BuiltProgram;
  readonly warnings: readonly string[];
}

/** A program that continues after a pause, with the runner's current code mode. */
export function restoreProgram(runner: ProgramRunner, stored: StoredProgram): RestoredProgram {
  const { tenant = runner.codeMode?.tenant } = stored;
  const options = { ...runner.codeMode, ...(tenant !== undefined && { tenant }) };
  return new ProgramTool(runner, new CodeModeCache(options)).restore(stored);
}

class ProgramTool implements CodeMode {
  readonly #runner: ProgramRunner;
  readonly #options: ResolvedCodeMode;
  readonly #cache: CodeModeCache;
  readonly #whose: OfTenant;
  #tool: { readonly text: string; readonly tool: ToolDescription } | null = null;

  constructor(runner: ProgramRunner, cache: CodeModeCache) {
    this.#runner = runner;
    this.#options = cache.options;
    this.#cache = cache;
    const { tenant } = cache.options;
    this.#whose = tenant === undefined ? {} : { tenant };
  }

  get #catalog(): Catalog {
    return this.#cache.catalogs.get(this.#runner.list(this.#whose), this.#options);
  }

  list(): readonly ToolDescription[] {
    return [RUN_CODE, SEARCH_TOOLS, WAIT_CALL].flatMap((name) => this.get(name) ?? []);
  }

  get(name: string): ToolDescription | undefined {
    if (name === RUN_CODE) return this.#describe();
    if (name === SEARCH_TOOLS) return SEARCH_TOOL;
    return name === WAIT_CALL ? this.#runner.forModels?.().get(name) : undefined;
  }

  declarations({ tokens = this.#options.tokens }: { readonly tokens?: number } = {}): Declarations {
    return this.#catalog.declarations(tokens);
  }

  on(event: ToolsEvent, listener: () => void): void {
    this.#runner.on?.(event, listener);
  }

  off(event: ToolsEvent, listener: () => void): void {
    this.#runner.off?.(event, listener);
  }

  ready(): Promise<void> {
    return this.#catalog.ready();
  }

  readonly waits = (options?: Pick<ExecuteOptions, "tenant">): OwnWaits | undefined =>
    this.#runner.forModels?.().waits?.(options);

  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
    const name: unknown = call?.name;
    if (typeof name !== "string") return refusedCall(call, toolError("tool_not_found", this.describeMissing("")));
    const model = name === WAIT_CALL ? this.#runner.forModels?.() : undefined;
    if (model !== undefined) return model.execute(call, this.#withTenant(options));
    const refuse = () => Promise.reject(new GloveboxError("tool_not_found", this.describeMissing(name)));
    return this.#within(call, options, (host, narrowed) => {
      if (name === RUN_CODE) return this.#runCode(call, narrowed, host);
      if (name === SEARCH_TOOLS) return host.answer(call, () => this.#search(call.arguments), narrowed);
      return host.answer(call, refuse, narrowed);
    });
  }

  #within(call: ToolCall, options: ExecuteOptions, work: CallWork): Promise<ToolResult> {
    return this.#runner.within?.(call, options, work) ?? work(this.#runner, options);
  }

  async run(code: string, { id, input, ...options }: RunOptions = {}): Promise<ToolResult<RunCodeOutput>> {
    const call = { name: RUN_CODE, arguments: { code, input }, ...(id === undefined ? {} : { id }) };
    return (await this.execute(call, options)) as ToolResult<RunCodeOutput>;
  }

  async check(code: string): Promise<readonly ProgramProblem[]> {
    const call = { name: RUN_CODE, arguments: {} };
    const { error } = await this.#within(call, {}, async (host, options) => {
      try {
        if (!isAmong(options.tools, RUN_CODE))
          throw new GloveboxError("tool_not_found", `there is no tool "${RUN_CODE}"`);
        const { tenant = "" } = this.#withTenant(options);
        await this.#read(this.#requireShort(code), { tenant, step: (_name, work) => work() }, host, options);
        return success(null, emptyMetadata("", RUN_CODE, 0));
      } catch (failed) {
        if (!(failed instanceof GloveboxError)) throw failed;
        return refusedCall(call, toolError(failed.code, failed.message, failed.details));
      }
    });
    if (error === null) return [];
    const failed = new GloveboxError(error.code, error.message, error.details);
    const problems = problemsOf(failed);
    if (problems.length > 0) return problems;
    throw failed;
  }

  #withTenant(options: ExecuteOptions): ExecuteOptions {
    return options.tenant === undefined ? { ...options, ...this.#whose } : options;
  }

  /** The same object as long as its text is the same. */
  #describe(): ToolDescription {
    const { text } = this.declarations();
    if (this.#tool?.text !== text) this.#tool = { text, tool: runCodeTool(text, this.#options.codeChars) };
    return this.#tool.tool;
  }

  #runCode(call: ToolCall, given: ExecuteOptions, host: ProgramHost): Promise<ToolResult> {
    const options = this.#withTenant(given);
    const calls = new ProgramCalls();
    let warnings: readonly string[] = [];
    const prepare = async (preparation: Preparation): Promise<ToolProgram> => {
      const { code, input = null } = this.#argumentsOf(call);
      const read = await this.#read(code, preparation, host, options);
      ({ warnings } = read);
      const { resultChars, limits } = this.#options;
      const { text, calls: named } = read.built;
      const callees = [...new Set(named.map(({ tool }) => tool))];
      return { kind: "tools", code: text, input, resultChars, limits, tools: this.#toolsFor(calls), callees };
    };
    const finish = (result: ToolResult): ToolResult => programResult(result, calls, warnings);
    const state = (): string => calls.kept(warnings);
    return host.runProgram(call, { prepare, finish, state }, options);
  }

  /** A program that continues after a pause. */
  restore({ state, tenant: _tenant, ...kept }: StoredProgram): RestoredProgram {
    const { calls, warnings } = ProgramCalls.from(state);
    return {
      program: { kind: "tools", ...kept, tools: this.#toolsFor(calls) },
      finish: (result) => programResult(result, calls, warnings),
      state: () => calls.kept(warnings),
    };
  }

  #argumentsOf({ arguments: given }: ToolCall): { readonly code: string; readonly input?: unknown } {
    const { code, input }: { readonly code?: unknown; readonly input?: unknown } = given ?? {};
    if (typeof code !== "string" || code.trim() === "") {
      throw new GloveboxError("invalid_arguments", "code must be the text of a program: the body of an async function");
    }
    return { code: this.#requireShort(code), input };
  }

  #requireShort(code: string): string {
    const { codeChars } = this.#options;
    if (code.length <= codeChars) return code;
    throw new GloveboxError("input_too_large", `code has ${code.length} characters, and may have ${codeChars}`);
  }

  async #build(code: string, tenant: string): Promise<BuiltProgram> {
    const { programs } = this.#cache;
    const key = `${tenant}\n${code}`;
    const known = programs.get(key);
    if (known !== undefined) return known;
    const built = await buildProgram(code, tenant);
    programs.set(key, built);
    return built;
  }

  /** Reads and checks a program. Rejects with a `GloveboxError` that has the problems of a certainly wrong one. */
  async #read(
    code: string,
    { callId, tenant, step }: CheckedFor,
    host: ProgramHost,
    options: ExecuteOptions,
  ): Promise<ReadProgram> {
    const startMs = performance.now();
    const call = callId === undefined ? { tenant } : { callId, tenant };
    const payer: CheckPayer = { tenant, spend: (cpuMs) => host.charge?.(cpuMs, options) };
    const emit = (outcome: ProgramCheck["outcome"], more: { readonly reason?: string } = {}, error?: unknown): void => {
      const durationMs = performance.now() - startMs;
      host.emit?.("program:check", { ...call, outcome, problems: problemsOf(error), ...more, durationMs });
    };
    try {
      const built = await step("program.read", () => this.#build(code, tenant));
      const checked = await step("program.check", () => this.#checkTypes(code, built, payer));
      if (checked.kind === "checked") emit("accepted");
      else emit("unchecked", { reason: checked.reason });
      return { built, warnings: this.#warningsOf(checked) };
    } catch (error) {
      if (problemsOf(error).length > 0) emit("rejected", {}, error);
      throw error;
    }
  }

  /** Rejects with a `GloveboxError` that has the problems of a program that is certainly wrong. */
  async #checkTypes(code: string, built: BuiltProgram, payer: CheckPayer): Promise<CheckedProgram> {
    if (this.#options.typeCheck === "off") return { kind: "unchecked", reason: "typeCheck is off" };
    const catalog = this.#catalog;
    // A registry lists its tools after their first call.
    const unlisted = catalog
      .unlistedIn(built)
      .flatMap((name) => (mayCall(name, this.#options) ? (this.#runner.get(name, this.#whose) ?? []) : []));
    const checked = await catalog.check(code, built, unlisted, payer);
    if (checked.kind === "checked" && checked.problems.length > 0) throw problemError(checked.problems);
    return checked;
  }

  #warningsOf(checked: CheckedProgram): readonly string[] {
    if (checked.kind === "checked") return checked.warnings;
    const { typeCheck } = this.#options;
    if (typeCheck === "off") return [];
    if (typeCheck === "auto") return [`not type-checked: ${checked.reason}`];
    throw new GloveboxError(
      "capability_failed",
      `The program was not run: it could not be checked, because ${checked.reason}.`,
    );
  }

  /** The catalog of the moment: a tool that is registered meanwhile can be called. */
  #toolsFor(calls: ProgramCalls): ProgramTools {
    return {
      refuse: (name) => {
        if (this.#has(name)) return undefined;
        return { ok: false, code: "tool_not_found", message: this.#catalog.describeMissing(name) };
      },
      search: (query) => this.#search(query),
      onCall: (call) => calls.begin(call),
    };
  }

  #has(name: string): boolean {
    return mayCall(name, this.#options) && this.#runner.get(name, this.#whose) !== undefined;
  }

  async #search(given: unknown): Promise<FoundTools> {
    const query = queryOf(given);
    const catalog = this.#catalog;
    await catalog.ready();
    const index = await catalog.index();
    return index.find(query);
  }

  describeMissing(name: string): string {
    if (!this.#has(name)) return this.#catalog.describeMissing(name);
    return `${name} is called in a program. Send ${RUN_CODE} with the code: return await ${expressionOf(name)}({ … });`;
  }
}

/** Checks the arguments of `search_tools`. */
function queryOf(given: unknown): ToolQuery {
  const {
    query,
    namespace,
    limit = SEARCH_LIMIT,
    detail = "signature",
  } = (given ?? {}) as { readonly [key: string]: unknown };
  const refuse = (message: string): never => {
    throw new GloveboxError("invalid_arguments", message);
  };
  if (typeof query !== "string" || query.length > QUERY_MAX)
    return refuse(`query must be a text of at most ${QUERY_MAX} characters`);
  if (namespace !== undefined && typeof namespace !== "string")
    return refuse("namespace must be a text, such as github");
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > SEARCH_LIMIT_MAX)
    return refuse(`limit must be a whole number from 1 to ${SEARCH_LIMIT_MAX}`);
  if (!DETAILS.includes(detail)) return refuse("detail must be name, signature or full");
  const wanted = { query, limit, detail: detail as ToolQuery["detail"] };
  return namespace === undefined ? wanted : { ...wanted, namespace };
}
