import { GloveboxError } from "../base/errors.ts";
import type { JsonValue } from "../base/json.ts";
import { type Limits, resolveLimits } from "../base/limits.ts";
import type { Inspection, ModuleContractName, Runtime, ToolScript } from "../base/protocol/script.ts";
import type { Binaries } from "../broker/capabilities/native/binaries.ts";
import type { Bundle } from "./bundle/bundle.ts";
import { bundleDefinition, bundleFile } from "./bundle/code.ts";
import { ConfigRedactor } from "./config-redactor.ts";
import { checkDefinition } from "./definition-check.ts";
import type { ToolDefinition } from "./definition.ts";
import { configFor, type LocationExtras, readTools, requireTool } from "./module.ts";
import type { Packages } from "./packages.ts";
import { ANY_ARGUMENTS, type Checks, type Loaded, type RegisteredTool, registeredTool } from "./registered-tool.ts";
import { compileSchema, type Validator } from "../base/schema/schema.ts";
import type { JsonSchema } from "../base/json.ts";
import type { SchemaPlace } from "../base/schema/schema-text.ts";
import type { ToolSource } from "./source.ts";
import { stackMapper } from "./bundle/stack.ts";

/** What preparing a tool needs of the engine. */
export interface PrepareContext {
  /** Evaluates a script in an isolate of its own and says what is in it. */
  readonly inspect: (script: ToolScript) => Promise<Inspection>;
  /** The engine's limits, for what a tool does not say. */
  readonly limits: Limits;
  readonly maxLimits: Limits;
  /** A key that no other script has. */
  readonly nextKey: () => string;
  readonly packages: Pick<Packages, "load">;
  /** Keeps the files of what is native, by the keys of their scripts. */
  readonly binaries: Pick<Binaries, "keep">;
}

/**
 * Makes a tool ready for calls: check, bundle, inspect, compile. Nothing of the tool is evaluated in this process, not
 * even to read its spec. Throws a `GloveboxError` that says what to change.
 */
export async function prepareTool(given: ToolDefinition, context: PrepareContext): Promise<RegisteredTool> {
  const definition = checkDefinition(given);
  const { name } = definition;
  // The bundler is a process of its own: while it works, this one compiles. What it finds wrong is told first.
  const bundling = bundleDefinition(definition);
  const compiling = compileChecks(definition);
  compiling.catch(() => undefined);
  const bundle = await bundling;
  const checks = await compiling;
  const loaded = await load(name, bundle, context, definition.config, definition);
  requireTool({ ...loaded, runtime: bundle.runtime }, name);
  return withBinary(registeredTool(definition, checks, bundle, loaded, context), bundle, context);
}

/**
 * The same for the tools of a module on disk. It says itself what it is, in whatever contract: so it is evaluated once,
 * with the defaults, before anything is known of it. `extras` are what is said of it beside.
 */
export function prepareModule(
  source: ToolSource,
  extras: LocationExtras,
  context: PrepareContext,
): Promise<readonly RegisteredTool[]> {
  return withBundle(source, extras, context, (...bundled) => prepareBundle(...bundled, context));
}

/** Makes one script of a source and goes on with it; of a package, that is a step of its own. */
async function withBundle<Value>(
  source: ToolSource,
  extras: LocationExtras,
  context: PrepareContext,
  use: (name: string, bundle: Bundle, extras: LocationExtras) => Promise<Value>,
): Promise<Value> {
  if (source.kind === "package") {
    const { name, bundle, record, steps } = await context.packages.load(source.path);
    return steps.take("initialize", () => use(name, bundle, { record, ...extras }));
  }
  return use(source.name, await bundleFile(source.path, source.name), extras);
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
    // Of several tools in a module, each has a script of its own: its key is what workers know it by.
    const key = tools.length === 0 ? loaded.key : context.nextKey();
    const tool = registeredTool(definition, await compileChecks(definition), bundle, { ...loaded, key }, context);
    tools.push(await withBinary(tool, bundle, context));
  }
  return tools;
}

/** A tool is only there when what it runs is. */
async function withBinary(
  tool: RegisteredTool,
  { binary }: Bundle,
  { binaries }: Pick<PrepareContext, "binaries">,
): Promise<RegisteredTool> {
  if (binary !== undefined) await binaries.keep(tool.script.key, tool.script.text, binary);
  return tool;
}

/** What a module says of itself, in the terms of its contract: nobody has checked it. */
export interface ModuleReport {
  /** Its file's name, or its folder's. */
  readonly name: string;
  readonly contract: ModuleContractName;
  readonly runtime: Runtime;
  /** What its contract's `readModule` reads; `null` where that is our own. */
  readonly described: unknown;
  /** Its export `spec`, or `null`. */
  readonly spec: unknown;
  readonly defaultExport: string;
}

/** What a module on disk says of itself, and the key under which its worker keeps it ready. Nothing becomes a tool. */
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
    // Who defines a tool in JavaScript does so in our own contract; what is on disk, or was written elsewhere, may be in any.
    contract: definition === undefined || bundle.runtime !== "javascript" ? null : "glovebox",
    text: bundle.text,
  };
  const inspection = await context.inspect(script);
  if (!inspection.ok) throw loadFailure(script, bundle, inspection.error);
  return { ...inspection, key: script.key };
}

/** Asynchronous only so that it fails as a bundle does. */
async function compileChecks({ name, inputSchema = ANY_ARGUMENTS, outputSchema }: ToolDefinition): Promise<Checks> {
  const checkInput = compile(name, inputSchema, "inputSchema");
  return { checkInput, checkOutput: outputSchema === undefined ? null : compile(name, outputSchema, "outputSchema") };
}

function compile(tool: string, schema: JsonSchema, where: SchemaPlace): Validator {
  try {
    return compileSchema(schema, where);
  } catch (error) {
    if (!(error instanceof GloveboxError)) throw error;
    throw new GloveboxError(error.code, `tool "${tool}": ${error.message}`, error.details);
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
  // Of a module on disk nobody knows yet whether its contract has keys in its config.
  const redactor = script.contract === null ? ConfigRedactor.of(JSON.parse(script.config) as JsonValue) : null;
  const problem = (redactor?.text(error.message) ?? error.message).slice(0, 2_000);
  const message = `tool "${script.name}" could not be loaded: ${problem}${adviceOnGlobal(problem)}`;
  const told = { ...details, type: error.type };
  return new GloveboxError(error.code, message, redactor?.value(told) ?? told);
}

/** What to do about a global of Node's that a module uses without looking whether it is there. */
function adviceOnGlobal(problem: string): string {
  const name = /\b(Buffer|process|setImmediate) is not defined$/.exec(problem)?.[1];
  if (name === undefined) return "";
  return `; Node's globals do not exist inside an isolate: import a module first that sets globalThis.${name}`;
}
