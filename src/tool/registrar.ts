import PQueue from "p-queue";
import { GloveboxError } from "../base/errors.ts";
import type { JsonValue } from "../base/json.ts";
import { type Bounds, type Limits, resolveLimits } from "../base/limits.ts";
import {
  type Inspection,
  type ModuleContractName,
  NO_CHECKS,
  type Runtime,
  type ToolChecks,
  type ToolScript,
} from "../base/protocol/script.ts";
import type { Binaries } from "../broker/capabilities/native/binaries.ts";
import { OPERATOR } from "../broker/policy.ts";
import { buildChecks } from "./build/checks.ts";
import type { Bundle } from "./bundle/bundle.ts";
import { bundleDefinition, bundleFile } from "./bundle/code.ts";
import { stackMapper } from "./bundle/stack.ts";
import { checkDefinition, type ToolDefinition, type ToolLocation } from "./definition.ts";
import { configFor, type LocationExtras, readTools, requireTool } from "./module.ts";
import type { Packages } from "./packages.ts";
import { ANY_ARGUMENTS, type Loaded, type RegisteredTool, registeredTool } from "./registered-tool.ts";
import { MAX_TOOLS } from "./registry.ts";
import { findSources, type ToolSource } from "./source.ts";

/** Maximum number of tools of a registrant that are bundled and inspected concurrently. */
const PREPARED_AT_ONCE = 4;
/** Maximum wait of a registrant's tool for its others, in milliseconds. The operator's tools all wait. */
const WAIT_MS = 8_000;

/** Inspects scripts; implemented by executors. */
interface ScriptInspector {
  inspect(script: ToolScript): Promise<Inspection>;
  /** Drops the worker's copy of a script. */
  forget(key: string): void;
}

type Work = () => Promise<readonly RegisteredTool[]>;

/** Prepares tools with limited concurrency: each needs the bundler and then a worker. */
export class Registrar {
  readonly #inspector: ScriptInspector;
  readonly #binaries: Pick<Binaries, "keep" | "forget">;
  readonly #packages: Packages;
  readonly #bounds: Bounds;
  /** By registrant: however many one has waiting, the others do not wait for them. */
  readonly #preparing = new Map<string, PQueue>();
  #lastKey = 0;
  #isOpen = true;

  /** `bounds` are read whenever a tool is prepared, so they may be changed in place. */
  constructor(inspector: ScriptInspector, binaries: Binaries, packages: Packages, bounds: Bounds) {
    this.#inspector = inspector;
    this.#binaries = binaries;
    this.#packages = packages;
    this.#bounds = bounds;
  }

  /** Throws a `GloveboxError` with `engine_closed` after `stop`. */
  requireOpen(): void {
    if (!this.#isOpen) throw new GloveboxError("engine_closed", "the engine is closing and registers no more tools");
  }

  /**
   * Prepares all tools of a definition or at a location, with the given limits, for a registrant. Rejects with a `GloveboxError`:
   * `load_error`, `engine_closed`.
   */
  async prepare(
    tool: ToolDefinition | ToolLocation | string,
    { bounds = this.#bounds, registrant = OPERATOR }: { readonly bounds?: Bounds; readonly registrant?: string } = {},
  ): Promise<readonly RegisteredTool[]> {
    this.requireOpen();
    const context = this.#contextFor(bounds, registrant);
    const works = await this.#worksFor(typeof tool === "string" ? { path: tool } : tool, context);
    const preparing = this.#queueOf(registrant);
    if (preparing.size + works.length > MAX_TOOLS) {
      throw new GloveboxError("load_error", `more than ${MAX_TOOLS} tools are waiting to be registered`);
    }
    const maxMs = registrant === OPERATOR ? null : WAIT_MS;
    const settled = await Promise.allSettled(works.map((work) => inTurn(preparing, work, maxMs)));
    if (preparing.size + preparing.pending === 0) this.#preparing.delete(registrant);
    const prepared = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    try {
      for (const one of settled) if (one.status === "rejected") throw one.reason;
      const twice = nameOfTwo(prepared);
      if (twice === undefined) return prepared;
      const problem = `more than one tool is called "${twice}", so none of them is registered`;
      throw new GloveboxError("load_error", `${problem}; give each its own name, or register one of them`);
    } catch (error) {
      for (const { script } of prepared) this.forget(script.key);
      throw error;
    }
  }

  /** Describes the modules at a location without registering them. Rejects as `prepare` does. */
  async describe(location: ToolLocation | string): Promise<readonly ModuleReport[]> {
    this.requireOpen();
    const context = this.#contextFor(this.#bounds);
    const { sources, extras } = await found(typeof location === "string" ? { path: location } : location);
    const describe = async (source: ToolSource): Promise<ModuleReport> => {
      const { key, report } = await describeModule(source, extras, context);
      this.forget(key);
      return report;
    };
    const preparing = this.#queueOf(OPERATOR);
    return Promise.all(sources.map((source) => preparing.add(() => describe(source))));
  }

  #queueOf(registrant: string): PQueue {
    let queue = this.#preparing.get(registrant);
    if (queue === undefined) {
      queue = new PQueue({ concurrency: PREPARED_AT_ONCE });
      this.#preparing.set(registrant, queue);
    }
    return queue;
  }

  /** Drops the script and the binary of a removed tool. */
  forget(key: string): void {
    this.#inspector.forget(key);
    this.#binaries.forget(key);
  }

  /** Refuses further tools. */
  stop(): void {
    this.#isOpen = false;
  }

  close(): Promise<void> {
    this.stop();
    return this.#packages.close();
  }

  #contextFor({ limits, toolMaxLimits: maxLimits }: Bounds, registrant = OPERATOR): PrepareContext {
    return {
      registrant,
      inspect: (script) => {
        this.requireOpen();
        return this.#inspector.inspect(script);
      },
      limits,
      maxLimits,
      nextKey: () => `${++this.#lastKey}`,
      packages: this.#packages,
      binaries: this.#binaries,
    };
  }

  async #worksFor(tool: ToolDefinition | ToolLocation, context: PrepareContext): Promise<readonly Work[]> {
    if (!("path" in tool)) return [async () => [await prepareTool(tool, context)]];
    const { sources, extras } = await found(tool);
    return sources.map((source) => () => prepareModule(source, extras, context));
  }
}

/** A name shared by two tools, if any. */
function nameOfTwo(tools: readonly RegisteredTool[]): string | undefined {
  const names = tools.map(({ info }) => info.name);
  return names.find((name, at) => names.indexOf(name) !== at);
}

/** The sources at a location. A record describes one AgentSpace tool, so its location must be a single source. */
async function found({ path, ...extras }: ToolLocation): Promise<{
  readonly sources: readonly ToolSource[];
  readonly extras: LocationExtras;
}> {
  if (extras.record === undefined) return { sources: await findSources(path), extras };
  return { sources: await findSources(path, true), extras: { contract: "agentspace", ...extras } };
}

/** The engine's parts that preparing a tool needs. */
export interface PrepareContext {
  /** Who registers the tool. */
  readonly registrant: string;
  /** Evaluates a script in an isolate of its own and describes it. */
  readonly inspect: (script: ToolScript) => Promise<Inspection>;
  /** The engine's limits, as defaults for the tool's. */
  readonly limits: Limits;
  /** Ceiling of what the tool may declare. */
  readonly maxLimits: Limits;
  /** A unique script key. */
  readonly nextKey: () => string;
  readonly packages: Pick<Packages, "load">;
  /** Stores the files of native tools, by the keys of their scripts. */
  readonly binaries: Pick<Binaries, "keep">;
}

/**
 * Prepares a tool for calls: check, bundle, inspect, compile. Nothing of the tool is evaluated in this process, not
 * even to read its spec. Throws a `GloveboxError` that says what to change.
 */
export async function prepareTool(given: ToolDefinition, context: PrepareContext): Promise<RegisteredTool> {
  const definition = checkDefinition(given);
  const { name } = definition;
  // Both at once where both are the operator's. The bundler's errors are reported first.
  const bundling = bundleDefinition(definition, laneOf(context));
  const compiling = checksOf(definition, context);
  compiling.catch(() => undefined);
  const bundle = await bundling;
  const checks = await compiling;
  const loaded = await load(name, bundle, context, definition.config, definition);
  requireTool({ ...loaded, runtime: bundle.runtime }, name);
  return withBinary(registeredTool(definition, checks, bundle, loaded, context), bundle, context);
}

/**
 * Prepares the tools of a module on disk. The module declares its own contract and tools, so it is first evaluated with
 * default settings. `extras` are the settings given beside it.
 */
export function prepareModule(
  source: ToolSource,
  extras: LocationExtras,
  context: PrepareContext,
): Promise<readonly RegisteredTool[]> {
  return withBundle(source, extras, context, (...bundled) => prepareBundle(...bundled, context));
}

/** Bundles a source and passes it to `use`; for a package, that is a reported step of its own. */
async function withBundle<Value>(
  source: ToolSource,
  extras: LocationExtras,
  context: PrepareContext,
  use: (name: string, bundle: Bundle, extras: LocationExtras) => Promise<Value>,
): Promise<Value> {
  if (source.kind === "package") {
    const { name, bundle, record, steps } = await context.packages.load(source.path, laneOf(context));
    return steps.take("initialize", () => use(name, bundle, { record, ...extras }));
  }
  return use(source.name, await bundleFile(source.path, source.name, laneOf(context)), extras);
}

/** Prepares a tool in its turn; with `maxMs` it is refused once it has waited that long. */
async function inTurn(queue: PQueue, work: Work, maxMs: number | null): ReturnType<Work> {
  if (maxMs === null) return queue.add(work);
  const wait = new AbortController();
  const timer = setTimeout(() => {
    const message = `other tools of its registrant were being prepared for ${maxMs / 1_000} s; register it again later`;
    wait.abort(new GloveboxError("load_error", message));
  }, maxMs);
  const begin = (): ReturnType<Work> => {
    clearTimeout(timer);
    return work();
  };
  return queue.add(begin, { signal: wait.signal });
}

/** The lane of the registrant's builds; the operator's files, and its definitions, run beside each other. */
function laneOf({ registrant }: PrepareContext): string | null {
  return registrant === OPERATOR ? null : registrant;
}

async function prepareBundle(
  name: string,
  bundle: Bundle,
  extras: LocationExtras,
  context: PrepareContext,
): Promise<readonly RegisteredTool[]> {
  const loaded = await load(name, bundle, context, configFor(extras));
  const definitions = readTools({ ...loaded, runtime: bundle.runtime }, name, extras);
  const tools: RegisteredTool[] = [];
  for (const definition of definitions) {
    // Each further tool of a module needs a script key of its own, by which workers identify it.
    const key = tools.length === 0 ? loaded.key : context.nextKey();
    const tool = registeredTool(definition, await checksOf(definition, context), bundle, { ...loaded, key }, context);
    tools.push(await withBinary(tool, bundle, context));
  }
  return tools;
}

/** Stores the binary before the tool becomes available. */
async function withBinary(
  tool: RegisteredTool,
  { binary }: Bundle,
  { binaries }: Pick<PrepareContext, "binaries">,
): Promise<RegisteredTool> {
  if (binary !== undefined) await binaries.keep(tool.script.key, tool.script.text, binary);
  return tool;
}

/** A module's description of itself in the terms of its contract, unchecked. */
export interface ModuleReport {
  /** Name of its file or folder. */
  readonly name: string;
  readonly contract: ModuleContractName;
  readonly runtime: Runtime;
  /** Input of its contract's `readModule`; `null` for Glovebox's own contract. */
  readonly described: unknown;
  /** Its `spec` export, or `null`. */
  readonly spec: unknown;
  readonly defaultExport: string;
}

/** Describes a module on disk, with the key under which its worker keeps it ready. Registers nothing. */
export function describeModule(
  source: ToolSource,
  extras: LocationExtras,
  context: PrepareContext,
): Promise<{ readonly key: string; readonly report: ModuleReport }> {
  return withBundle(source, extras, context, async (name, bundle, all) => {
    const found = await load(name, bundle, context, configFor(all));
    const { contract, defaultExport, key } = found;
    const [described, spec] = [found.described, found.spec].map((text) => JSON.parse(text) as unknown);
    return { key, report: { name, contract, runtime: bundle.runtime, described, spec, defaultExport } };
  });
}

async function load(
  name: string,
  bundle: Bundle,
  context: PrepareContext,
  config: JsonValue | undefined,
  definition?: ToolDefinition,
): Promise<Loaded> {
  const script: ToolScript = {
    key: context.nextKey(),
    name,
    version: definition?.version ?? "0.0.0",
    runtime: bundle.runtime,
    isolation: "instance",
    memoryMb: resolveLimits(context.limits, definition?.limits, context.maxLimits).memoryMb,
    config: JSON.stringify(config ?? null),
    // A JavaScript definition is always in Glovebox's own contract; modules on disk and of other runtimes may be in
    // any.
    contract: definition === undefined || bundle.runtime !== "javascript" ? null : "glovebox",
    checks: NO_CHECKS,
    text: bundle.text,
    registrant: context.registrant,
  };
  const inspection = await context.inspect(script);
  if (!inspection.ok) throw loadFailure(script, bundle, inspection.error);
  return { ...inspection, key: script.key };
}

async function checksOf(
  { name, inputSchema = ANY_ARGUMENTS, outputSchema }: ToolDefinition,
  context: PrepareContext,
): Promise<ToolChecks> {
  try {
    return await buildChecks(inputSchema, outputSchema ?? null, laneOf(context));
  } catch (error) {
    if (!(error instanceof GloveboxError)) throw error;
    throw new GloveboxError(error.code, `tool "${name}": ${error.message}`, error.details);
  }
}

function loadFailure(
  script: ToolScript,
  bundle: Bundle,
  error: Extract<Inspection, { ok: false }>["error"],
): GloveboxError {
  const details: Record<string, unknown> =
    typeof error.details === "object" && error.details !== null ? { ...error.details } : {};
  const stack = details["stack"];
  if (typeof stack === "string") details["stack"] = stackMapper(script.name, bundle.sourceMap, bundle.runtime)(stack);
  const problem = error.message.slice(0, 2_000);
  const message = `tool "${script.name}" could not be loaded: ${problem}${adviceOnGlobal(problem)}`;
  return new GloveboxError(error.code, message, { ...details, type: error.type });
}

/** Advice for a module that uses a global of Node.js without checking for it. */
function adviceOnGlobal(problem: string): string {
  const name = /\b(Buffer|process|setImmediate) is not defined$/.exec(problem)?.[1];
  if (name === undefined) return "";
  return `; Node's globals do not exist inside an isolate: import a module first that sets globalThis.${name}`;
}
