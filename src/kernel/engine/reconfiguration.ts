import path from "node:path";
import { GloveboxError } from "../base/errors.ts";
import { writeJson } from "../base/json-writer.ts";
import { OPERATOR } from "../broker/policy.ts";
import type { Assembly } from "./assembly.ts";
import type { Grants } from "../broker/grants.ts";
import type { Policy } from "../broker/policy.ts";
import type { Reconfigured } from "./telemetry/events.ts";
import { type EngineOptions, type ResolvedOptions, resolveOptions, type ToolSource } from "./options.ts";
import { isIn } from "../tool/bundle/specifier.ts";
import { failureOf } from "../tool/failed-tools.ts";
import { isSameTool, type RegisteredTool } from "../tool/registered-tool.ts";

/** Options in force. Some can change while calls run. */
export class Reconfiguration {
  readonly #parts: Assembly;
  /** Options with which the engine was started. */
  readonly #given: EngineOptions;
  readonly #resolved: ResolvedOptions;
  #policy: Policy;
  #codeMode: ResolvedOptions["codeMode"];
  #modelChars: number;
  #queue: ResolvedOptions["queue"];
  /** Names of the tools that came from options: only these are removed when new options lack them. */
  #own: ReadonlySet<string> = new Set();
  /** The last reconfiguration. They run one at a time, because each compares with the result of the one before. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(given: EngineOptions, resolved: ResolvedOptions, parts: Assembly) {
    this.#given = given;
    this.#resolved = resolved;
    this.#policy = resolved.policy;
    this.#codeMode = resolved.codeMode;
    this.#modelChars = resolved.modelChars;
    this.#queue = resolved.queue;
    this.#parts = parts;
  }

  /** Options of code mode that are in force. */
  get codeMode(): ResolvedOptions["codeMode"] {
    return this.#codeMode;
  }

  /** Length of an output beyond which a model gets a part. */
  get modelChars(): number {
    return this.#modelChars;
  }

  /** Applies tools, policy, limits and queue of new options, or nothing if anything is invalid. */
  apply(options: EngineOptions): Promise<Reconfigured> {
    const applied = this.#last.then(() => this.#apply(options));
    this.#last = applied.catch(() => undefined);
    return applied;
  }

  async #apply(options: EngineOptions): Promise<Reconfigured> {
    const { plugins = [] } = this.#given;
    const resolved = resolveOptions({ ...options, plugins });
    const grants = this.#parts.broker.grantsOf(resolved.policy);
    const sources = await this.#parts.sources.prepare(resolved.sources);
    const tools = await this.#prepareAll(options, resolved).catch(async (error: unknown) => {
      await sources[Symbol.asyncDispose]();
      throw error;
    });
    // From here on everything is synchronous and cannot fail: a call sees all changes or none.
    const own = this.#putAll(tools);
    const { registered, removed } = sources.put();
    const changed = {
      ...own,
      registered: [...own.registered, ...registered],
      removed: [...own.removed, ...removed],
    };
    const needRestart = this.#needRestart(options, resolved);
    return { ...changed, ...this.#putRest(resolved, grants), needRestart };
  }

  /** Replaces the policy. Throws a `TypeError` if it is invalid. */
  setPolicy(policy: Policy): void {
    this.#parts.broker.use(this.#parts.broker.grantsOf(policy));
    this.#policy = policy;
  }

  async #prepareAll({ tools = [] }: EngineOptions, resolved: ResolvedOptions): Promise<readonly RegisteredTool[]> {
    const { registrar, registry } = this.#parts;
    const settled = await Promise.allSettled(tools.map((tool) => registrar.prepare(tool, { bounds: resolved })));
    const prepared = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    try {
      const failure = failureOf(settled);
      if (failure !== undefined) throw failure;
      requireOwnNames(tools, settled);
      registrar.requireOpen();
      registry.requireRoom(prepared);
      return prepared;
    } catch (error) {
      for (const tool of prepared) this.#forget(tool);
      throw error;
    }
  }

  #putAll(prepared: readonly RegisteredTool[]): Pick<Reconfigured, "registered" | "replaced" | "removed"> {
    const { registry, tools: installed } = this.#parts;
    const tools = new Map(prepared.map((tool) => [tool.info.name, tool]));
    for (const tool of prepared) if (tools.get(tool.info.name) !== tool) this.#forget(tool);
    const [registered, replaced]: [string[], string[]] = [[], []];
    for (const [name, tool] of tools) {
      const old = registry.get(name);
      if (old !== undefined && isSameTool(old, tool)) {
        this.#forget(tool);
        continue;
      }
      (old === undefined ? registered : replaced).push(name);
      installed.put(tool);
    }
    // A key may have taken the name of a tool that was removed meanwhile.
    const isOwn = (name: string) => registry.get(name)?.info.registrant === OPERATOR;
    const removed = [...this.#own].filter((name) => !tools.has(name) && isOwn(name));
    for (const name of removed) installed.remove(name);
    this.#own = new Set(tools.keys());
    return { registered, replaced, removed };
  }

  #putRest(resolved: ResolvedOptions, grants: Grants): Pick<Reconfigured, "isPolicyChanged" | "areLimitsChanged"> {
    const { broker, bounds, scheduler } = this.#parts;
    const isPolicyChanged = differ(this.#policy, resolved.policy);
    const isQueueChanged = differ(this.#queue, resolved.queue);
    const areLimitsChanged =
      isQueueChanged || (["limits", "maxLimits"] as const).some((name) => differ(bounds[name], resolved[name]));
    if (isPolicyChanged) broker.use(grants);
    if (isQueueChanged) scheduler.use(resolved.queue);
    this.#queue = resolved.queue;
    this.#policy = resolved.policy;
    this.#codeMode = resolved.codeMode;
    this.#modelChars = resolved.modelChars;
    bounds.limits = resolved.limits;
    bounds.maxLimits = resolved.maxLimits;
    bounds.toolMaxLimits = resolved.toolMaxLimits;
    return { isPolicyChanged, areLimitsChanged };
  }

  #needRestart(options: EngineOptions, resolved: ResolvedOptions): readonly string[] {
    const decided = (["executor", "workers", "broker", "kv", "stateDir", "calls", "root"] as const).filter((name) =>
      differ(this.#resolved[name], resolved[name]),
    );
    const sources = resolved.sources.flatMap(({ fixed }, at) => {
      const before = this.#resolved.sources[at]?.fixed;
      return Object.keys(fixed).filter((name) => differ(before?.[name], fixed[name]));
    });
    const given = (["audit", "fetch", "secrets", "packages"] as const).filter((name) =>
      differ(this.#given[name], options[name]),
    );
    return [...decided, ...sources, ...given];
  }

  #forget({ script }: RegisteredTool): void {
    this.#parts.registrar.forget(script.key);
  }
}

/**
 * Throws if two places have a tool of one name: the order of the places would decide which one runs. A place inside
 * another one changes the settings of its tools, and a definition is the program's own choice.
 */
function requireOwnNames(
  given: readonly ToolSource[],
  settled: readonly PromiseSettledResult<readonly RegisteredTool[]>[],
): void {
  const places = new Map<string, string>();
  for (const [at, one] of settled.entries()) {
    const place = placeOf(given[at]);
    if (place === undefined || one.status === "rejected") continue;
    for (const { info } of one.value) {
      const other = places.get(info.name);
      places.set(info.name, place);
      if (other === undefined || isNested(path.resolve(place), path.resolve(other))) continue;
      const problem = `the tool "${info.name}" is in two places: ${other}, and ${place}`;
      throw new GloveboxError("load_error", `${problem}; give each its own name, or leave one of them out`);
    }
  }
}

/** Whether two paths are one place, or one is inside the other. */
function isNested(one: string, other: string): boolean {
  return one === other || isIn(one, other) || isIn(other, one);
}

/** The path in the options; `undefined` for a definition. */
function placeOf(given: ToolSource | undefined): string | undefined {
  if (typeof given === "string") return given;
  return given !== undefined && "path" in given ? given.path : undefined;
}

function differ(one: unknown, other: unknown): boolean {
  return writeJson(one) !== writeJson(other);
}
