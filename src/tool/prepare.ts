import type { CapabilityRequest } from "../capabilities/capability.ts";
import { GloveboxError } from "../errors.ts";
import type { JsonSchema } from "../json.ts";
import { resolveLimits, type Limits } from "../limits.ts";
import type { Inspection, Isolation, ToolScript } from "../protocol/script.ts";
import { bundleModule, type Bundle, type BundleInput } from "./bundle.ts";
import { checkDefinition } from "./definition-check.ts";
import type { ToolDefinition, ToolInfo } from "./definition.ts";
import { compileSchema, type Validator } from "./schema.ts";
import type { SchemaPlace } from "./schema-text.ts";
import type { ToolSource } from "./source.ts";
import { mapStack, stackMapper } from "./stack.ts";

/** Who still needs a version of a tool: its script can go when it has been replaced and its last call has ended. */
interface ToolUsage {
  calls: number;
  retired: boolean;
}

/** A tool that calls can be sent to. It never changes: registering its name again makes another one. */
export interface RegisteredTool {
  readonly info: ToolInfo;
  readonly script: ToolScript;
  readonly checkInput: Validator;
  /** `null` where the tool declares no `outputSchema`. */
  readonly checkOutput: Validator | null;
  readonly limits: Limits;
  /** What the tool itself says of its limits. */
  readonly askedLimits: Partial<Limits>;
  readonly capabilities: CapabilityRequest;
  readonly retries: number;
  readonly usage: ToolUsage;
  /** As the bundler writes it. */
  readonly sourceMap: string;
  /** Turns a stack from inside an isolate into one that points at the tool's own lines. */
  mapStack(stack: string): string;
}

/** What preparing a tool needs of the engine. */
export interface PrepareContext {
  /** Evaluates a script in an isolate of its own and says what is in it. */
  readonly inspect: (script: ToolScript) => Promise<Inspection>;
  /** The engine's limits, for what a tool does not say. */
  readonly limits: Limits;
  readonly maxLimits: Limits;
  /** A key that no other script has. */
  readonly nextKey: () => string;
}

/** What the inspection found, and the key of the script that it left ready in its worker. */
type Loaded = Extract<Inspection, { ok: true }> & { readonly key: string };
type Checks = Pick<RegisteredTool, "checkInput" | "checkOutput">;

const MAX_SPEC_LENGTH = 4 * 1024 * 1024;
const ANY_ARGUMENTS: JsonSchema = { type: "object" };

/**
 * Makes a tool ready for calls: check, bundle, inspect, compile. Nothing of the tool is evaluated in this process, not
 * even to read its spec. Throws a `GloveboxError` that says what to change.
 */
export async function prepareTool(
  input: ToolDefinition | ToolSource,
  context: PrepareContext,
): Promise<RegisteredTool> {
  return "path" in input ? prepareSource(input, context) : prepareDefinition(input, context);
}

async function prepareDefinition(given: ToolDefinition, context: PrepareContext): Promise<RegisteredTool> {
  const definition = checkDefinition(given);
  const { name, source, entry = "" } = definition;
  const module: BundleInput =
    source === undefined ? { kind: "file", path: entry, name } : { kind: "text", text: source, name };
  // The bundler is a process of its own: while it works, this one compiles. What it finds wrong is told first.
  const bundling = bundleModule(module);
  const compiling = compileChecks(definition);
  compiling.catch(() => undefined);
  const bundle = await bundling;
  const checks = await compiling;
  return finish(definition, checks, bundle, await load(name, bundle, context, definition), context);
}

/** A file says in its `spec` what it is: so it is evaluated once, with the defaults, before anything is known of it. */
async function prepareSource(source: ToolSource, context: PrepareContext): Promise<RegisteredTool> {
  const bundle = await bundleModule({ kind: "file", path: source.path, name: source.name });
  const inspection = await load(source.name, bundle, context);
  const definition = readSpec(source.name, inspection.spec);
  return finish(definition, await compileChecks(definition), bundle, inspection, context);
}

async function load(
  name: string,
  bundle: Bundle,
  context: PrepareContext,
  definition?: ToolDefinition,
): Promise<Loaded> {
  const script: ToolScript = {
    key: context.nextKey(),
    name,
    version: definition?.version ?? "0.0.0",
    isolation: "instance",
    memoryMb: resolveLimits(context.limits, definition?.limits, context.maxLimits).memoryMb,
    config: JSON.stringify(definition?.config ?? null),
    text: bundle.text,
  };
  const inspection = await context.inspect(script);
  if (!inspection.ok) throw loadFailure(script, bundle, inspection.error);
  if (inspection.defaultExport !== "function") {
    throw loadError(name, "must export default a function (input, context) => output");
  }
  return { ...inspection, key: script.key };
}

function readSpec(name: string, text: string): ToolDefinition {
  if (text.length > MAX_SPEC_LENGTH) throw loadError(name, `has a spec of more than ${MAX_SPEC_LENGTH} characters`);
  const spec: unknown = JSON.parse(text);
  if (typeof spec !== "object" || spec === null || Array.isArray(spec)) {
    throw loadError(name, "must say what it is: export const spec = { name, description, inputSchema, … }");
  }
  return checkDefinition({ name, ...spec }, { allowNoSource: true });
}

/** Asynchronous only so that it fails as a bundle does. */
async function compileChecks({ name, inputSchema = ANY_ARGUMENTS, outputSchema }: ToolDefinition): Promise<Checks> {
  const checkInput = compile(name, inputSchema, "inputSchema");
  return { checkInput, checkOutput: outputSchema === undefined ? null : compile(name, outputSchema, "outputSchema") };
}

function finish(
  definition: ToolDefinition,
  checks: Checks,
  bundle: Bundle,
  inspection: Loaded,
  context: PrepareContext,
): RegisteredTool {
  const { name, version = "0.0.0", inputSchema = ANY_ARGUMENTS, outputSchema } = definition;
  const limits = Object.freeze(resolveLimits(context.limits, definition.limits, context.maxLimits));
  const capabilities = frozenCopy(definition.capabilities ?? {});
  const { isolation, isolationReason } = chooseIsolation(name, definition.isolation, inspection);
  const info: ToolInfo = Object.freeze({
    name,
    description: definition.description,
    version,
    tags: frozenCopy(definition.tags ?? []),
    inputSchema: frozenCopy(inputSchema),
    outputSchema: outputSchema === undefined ? null : frozenCopy(outputSchema),
    runtime: "javascript",
    isolation,
    ...(isolationReason === undefined ? {} : { isolationReason }),
    limits,
    capabilities,
    script: Object.freeze({ bytes: bundle.bytes, evaluationMs: inspection.evaluationMs }),
  });
  const script: ToolScript = Object.freeze({
    key: inspection.key,
    name,
    version,
    isolation,
    memoryMb: limits.memoryMb,
    config: JSON.stringify(definition.config ?? null),
    text: bundle.text,
  });
  const retries = definition.retries ?? 0;
  const usage: ToolUsage = { calls: 0, retired: false };
  const toOwnLines = stackMapper(name, bundle.sourceMap);
  const askedLimits = Object.freeze({ ...definition.limits });
  return Object.freeze({
    info,
    script,
    ...checks,
    limits,
    askedLimits,
    capabilities,
    retries,
    usage,
    sourceMap: bundle.sourceMap,
    mapStack: toOwnLines,
  });
}

/**
 * The level that was asked for, `instance` where none was. A module that does not load in a hardened realm gets a
 * context of its own for each call instead of an instance; it cannot be shared, since sharing is what it was promised.
 */
function chooseIsolation(
  name: string,
  asked: Isolation | undefined,
  inspection: Loaded,
): { isolation: Isolation; isolationReason?: string } {
  const wanted = asked ?? "instance";
  if (inspection.isolation !== "context" || wanted === "context" || wanted === "isolate") return { isolation: wanted };
  const reason = inspection.isolationReason ?? "the module does not load in a hardened realm";
  if (wanted === "shared") {
    throw loadError(name, `cannot have the isolation "shared": ${reason}; mend that, or use "context"`);
  }
  return { isolation: "context", isolationReason: reason };
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
  if (typeof stack === "string") details["stack"] = mapStack(stack, bundle.sourceMap, `tool:${script.name}`);
  const problem = error.message.slice(0, 2_000);
  const message = `tool "${script.name}" could not be loaded: ${problem}${adviceOnGlobal(problem)}`;
  return new GloveboxError(error.code, message, { ...details, type: error.type });
}

/** What to do about a global of Node's that a module uses without looking whether it is there. */
function adviceOnGlobal(problem: string): string {
  const name = /\b(Buffer|process|setImmediate) is not defined$/.exec(problem)?.[1];
  if (name === undefined) return "";
  return `; Node's globals do not exist inside an isolate: import a module first that sets globalThis.${name}`;
}

function frozenCopy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (_key, part: unknown) => Object.freeze(part));
}

function loadError(tool: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `tool "${tool}" ${problem}`);
}
