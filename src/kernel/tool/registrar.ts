import PQueue from "p-queue";
import { GloveboxError } from "../base/errors.ts";
import { parseWritten } from "../base/exact-json.ts";
import type { Bounds, Limits } from "../base/limits.ts";
import type { Inspection, ModuleContractName, Runtime, ToolScript } from "../base/protocol/script.ts";
import type { Binaries } from "../broker/binaries.ts";
import { OPERATOR } from "../broker/policy.ts";
import { eachInTurns } from "../base/turns.ts";
import type { Bundle } from "./bundle/bundle.ts";
import { bundleDefinition, bundleFile } from "./bundle/code.ts";
import { definedIn, withJsonSchemas } from "./defined-tool.ts";
import { checkDefinition, type ToolDefinition, type ToolLocation } from "./definition.ts";
import { bundleContext, checksOf, laneOf, load, type OmittedTool, type PrepareContext } from "./load.ts";
import { type ModuleReaders, recordReader } from "./contracts/contract.ts";
import { failureOf } from "./failed-tools.ts";
import type { ToolRuntimes } from "./runtimes/runtime.ts";
import { configFor, type LocationExtras, readTools, requireTool } from "./module.ts";
import type { Packages } from "./packages.ts";
import { preparation } from "./preparation.ts";
import { prepareDefined } from "./prepare-defined.ts";
import { type RegisteredTool, registeredTool } from "./registered-tool.ts";
import { MAX_TOOLS } from "./registry.ts";
import { withSpecLine } from "./spec-line.ts";
import { findSources, type ToolSource } from "./source.ts";
import { refuseLiveTool } from "./live-tool.ts";

/** Maximum number of tools of a registrant that are bundled and inspected concurrently. */
const PREPARED_AT_ONCE = 4;
/** Maximum wait of a registrant's tool for its others, in milliseconds. The operator's tools all wait. */
const WAIT_MS = 8_000;

/** Inspects scripts; implemented by executors. */
interface ScriptInspector {
  inspect(script: ToolScript): Promise<Inspection>;
  /** Drops the worker's copy of a script. */
  forget(key: string): void;
  /** Tells workers not to run calls with a script without receiving it. */
  withdraw?(key: string): void;
}

interface PrepareOptions {
  readonly bounds?: Bounds;
  readonly registrant?: string;
  /** The only tenant whose calls find the tools. */
  readonly tenant?: string;
}

/** The engine's settings for a tool: its limits, and a separate key for the tool's script. */
export interface ToolPlace {
  readonly limits: Limits;
  readonly maxLimits: Limits;
  readonly key: string;
}

/** The preparation of one source, which has a name. */
interface Work {
  readonly name: string;
  readonly run: () => Promise<readonly RegisteredTool[]>;
}

/** Prepares tools with limited concurrency: each needs the bundler and then a worker. */
export class Registrar {
  readonly #inspector: ScriptInspector;
  readonly #binaries: Pick<Binaries, "keep" | "forget">;
  readonly #packages: Packages;
  readonly #bounds: Bounds;
  readonly #readers: ModuleReaders;
  readonly #runtimes: ToolRuntimes;
  readonly #root: string | undefined;
  readonly #omitted: ((tool: OmittedTool) => void) | undefined;
  /** By registrant: however many one has waiting, the others do not wait for them. */
  readonly #preparing = new Map<string, PQueue>();
  #lastKey = 0;
  #isOpen = true;

  /**
   * `bounds` are read whenever a tool is prepared, so they may be changed in place. `root`: the folder of the
   * operator's project, if it is not to be found above each tool. `omitted` is called for tools that are left out of a
   * module.
   */
  constructor(
    inspector: ScriptInspector,
    binaries: Binaries,
    packages: Packages,
    bounds: Bounds,
    { readers, runtimes }: { readonly readers: ModuleReaders; readonly runtimes: ToolRuntimes },
    root?: string,
    omitted?: (tool: OmittedTool) => void,
  ) {
    this.#inspector = inspector;
    this.#binaries = binaries;
    this.#packages = packages;
    this.#bounds = bounds;
    this.#readers = readers;
    this.#runtimes = runtimes;
    this.#root = root;
    this.#omitted = omitted;
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
    { bounds = this.#bounds, registrant = OPERATOR, tenant }: PrepareOptions = {},
  ): Promise<readonly RegisteredTool[]> {
    this.requireOpen();
    const general = this.#contextFor(bounds, registrant);
    const context = tenant === undefined ? general : { ...general, tenant };
    const works = await this.#worksFor(typeof tool === "string" ? { path: tool } : tool, context);
    const preparing = this.#queueOf(registrant);
    if (preparing.size + works.length > MAX_TOOLS) {
      throw new GloveboxError("load_error", `more than ${MAX_TOOLS} tools are waiting to be registered`);
    }
    const maxMs = registrant === OPERATOR ? null : WAIT_MS;
    preparation.onFound(works.length);
    const settled = await Promise.allSettled(
      works.map(({ name, run }) => inTurn(preparing, run, maxMs).finally(() => preparation.onEnded(name))),
    );
    if (preparing.size + preparing.pending === 0) this.#preparing.delete(registrant);
    const prepared = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    try {
      const failure = failureOf(settled);
      if (failure !== undefined) throw failure;
      const twice = nameOfTwo(prepared);
      if (twice === undefined) return prepared;
      const problem = `more than one tool is called "${twice}", so none of them is registered`;
      throw new GloveboxError("load_error", `${problem}; give each its own name, or register one of them`);
    } catch (error) {
      for (const { script } of prepared) this.forget(script.key);
      throw error;
    }
  }

  /** Prepares tools that have no module to bundle or inspect, in short turns of the event loop. */
  async prepareEach<Item>(
    items: readonly Item[],
    make: (item: Item, engine: ToolPlace) => RegisteredTool,
  ): Promise<readonly RegisteredTool[]> {
    this.requireOpen();
    const { limits, maxLimits, nextKey } = this.#contextFor(this.#bounds);
    const tools: RegisteredTool[] = [];
    await eachInTurns(items, (item) => tools.push(make(item, { limits, maxLimits, key: nextKey() })));
    return tools;
  }

  /** Describes the modules at a location without registering them. Rejects as `prepare` does. */
  async describe(location: ToolLocation | string): Promise<readonly ModuleReport[]> {
    this.requireOpen();
    const context = this.#contextFor(this.#bounds);
    const { sources, extras } = await found(typeof location === "string" ? { path: location } : location, context);
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

  /** Tells workers not to start with the script of a replaced tool on their own, as calls of it still run. */
  withdraw(key: string): void {
    this.#inspector.withdraw?.(key);
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
      forget: (key) => this.#inspector.forget(key),
      nextKey: () => `${++this.#lastKey}`,
      packages: this.#packages,
      readers: this.#readers,
      runtimes: this.#runtimes,
      ...(this.#root !== undefined && { root: this.#root }),
      ...(this.#omitted !== undefined && { omitted: this.#omitted }),
      binaries: this.#binaries,
    };
  }

  async #worksFor(tool: ToolDefinition | ToolLocation, context: PrepareContext): Promise<readonly Work[]> {
    if (!isLocation(tool)) return [{ name: String(tool?.name), run: async () => [await prepareTool(tool, context)] }];
    const { sources, extras } = await found(tool, context);
    return sources.map((source) => ({ name: source.name, run: () => prepareModule(source, extras, context) }));
  }
}

/** JavaScript callers may pass any value, which is refused later. */
function isLocation(tool: ToolDefinition | ToolLocation): tool is ToolLocation {
  return typeof tool === "object" && tool !== null && "path" in tool;
}

/** A name shared by two tools, if any. */
function nameOfTwo(tools: readonly RegisteredTool[]): string | undefined {
  const names = tools.map(({ info }) => info.name);
  return names.find((name, at) => names.indexOf(name) !== at);
}

/** The sources at a location. A record describes one tool, so its location must be a single source. */
async function found(
  { path, ...extras }: ToolLocation,
  context: PrepareContext,
): Promise<{
  readonly sources: readonly ToolSource[];
  readonly extras: LocationExtras;
}> {
  const { runtimes } = context;
  if (extras.record === undefined)
    return { sources: await findSources(path, { runtimes, project: bundleContext(context).project }), extras };
  const contract = recordReader(context.readers)?.name;
  const sources = await findSources(path, { runtimes, isOnePackage: true });
  return { sources, extras: { ...(contract !== undefined && { contract }), ...extras } };
}

/**
 * Prepares a tool for calls: check, bundle, inspect, compile. No code of the tool is evaluated in this process, not
 * even to read its spec. Throws a `GloveboxError` with advice.
 */
export async function prepareTool(given: ToolDefinition, context: PrepareContext): Promise<RegisteredTool> {
  refuseLiveTool(given);
  const definition = checkDefinition(withJsonSchemas(given));
  const { name } = definition;
  // In parallel if both are the operator's. The bundler's errors are reported first.
  const bundling = bundleDefinition(definition, bundleContext(context));
  const compiling = checksOf(definition, context);
  compiling.catch(() => undefined);
  const bundle = await bundling;
  const checks = await compiling;
  const loaded = await load(name, bundle, context, definition.config, definition);
  requireTool({ ...loaded, runtime: bundle.runtime }, name, context.readers);
  const defined = definedIn(loaded);
  if (defined !== undefined) {
    // The embedder's definition takes precedence, the module's own fills the gaps.
    const all = checkDefinition({ ...defined.definition, ...definition });
    return prepareDefined(all, defined, bundle, loaded, context);
  }
  return withBinary(registeredTool(definition, checks, bundle, loaded, context), bundle, context);
}

/**
 * Prepares the tools of a module on disk. The module declares its own contract and tools, so it is first evaluated with
 * default settings. `extras` are the settings from outside the module.
 */
export function prepareModule(
  source: ToolSource,
  extras: LocationExtras,
  context: PrepareContext,
): Promise<readonly RegisteredTool[]> {
  return withBundle(source, extras, context, (...bundled) => prepareBundle(...bundled, context));
}

/** Bundles a source and passes it to `use`; for a package, that is a separate reported step. */
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
  const { name, path } = source;
  const bundle = await bundleFile(path, name, bundleContext(context));
  return use(name, bundle, extras).catch(async (error: unknown) => {
    throw await withSpecLine(error, path);
  });
}

/** Prepares a tool in its turn; with `maxMs` it is refused once it has waited that long. */
async function inTurn(queue: PQueue, work: Work["run"], maxMs: number | null): ReturnType<Work["run"]> {
  if (maxMs === null) return queue.add(work);
  const wait = new AbortController();
  const timer = setTimeout(() => {
    const message = `other tools of its registrant were being prepared for ${maxMs / 1_000} s; register it again later`;
    wait.abort(new GloveboxError("load_error", message));
  }, maxMs);
  const begin = (): ReturnType<Work["run"]> => {
    clearTimeout(timer);
    return work();
  };
  return queue.add(begin, { signal: wait.signal });
}

async function prepareBundle(
  name: string,
  bundle: Bundle,
  extras: LocationExtras,
  context: PrepareContext,
): Promise<readonly RegisteredTool[]> {
  const loaded = await load(name, bundle, context, configFor(extras, context.readers));
  if (loaded.contract === "tools") {
    const { prepareToolSet } = await import("./tool-set.ts");
    return prepareToolSet(name, bundle, extras, loaded, context);
  }
  const { runtime, isCommand } = bundle;
  const found = { ...loaded, runtime, ...(isCommand === true && { isCommand }) };
  const definitions = readTools(found, name, extras, context.readers);
  const tools: RegisteredTool[] = [];
  const defined = definedIn(loaded);
  for (const definition of definitions) {
    if (defined !== undefined) {
      tools.push(await prepareDefined(definition, defined, bundle, loaded, context));
      continue;
    }
    // Each further tool of a module needs its own script key, by which workers identify it.
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
    const found = await load(name, bundle, context, configFor(all, context.readers));
    const { contract, defaultExport, key } = found;
    const [described, spec] = [found.described, found.spec].map(parseWritten);
    return { key, report: { name, contract, runtime: bundle.runtime, described, spec, defaultExport } };
  });
}
