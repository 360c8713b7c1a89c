import { homedir } from "node:os";
import { GloveboxError } from "../base/errors.ts";
import { writeAny } from "../base/json-writer.ts";
import type { JsonValue } from "../base/json.ts";
import { type Limits, resolveLimits } from "../base/limits.ts";
import { describing, type Inspection, NO_CHECKS, type ToolChecks, type ToolScript } from "../base/protocol/script.ts";
import type { Binaries } from "../broker/binaries.ts";
import { OPERATOR } from "../broker/policy.ts";
import { buildChecks } from "./build/checks.ts";
import type { Bundle } from "./bundle/bundle.ts";
import type { ModuleReaders } from "./contracts/contract.ts";
import { stackMapper } from "./bundle/stack.ts";
import type { CheckedDefinition } from "./definition.ts";
import type { Packages } from "./packages.ts";
import { loadDescriber } from "./runtimes/prelude.ts";
import type { BundleContext, ToolRuntimes } from "./runtimes/runtime.ts";
import { placeInStack } from "./spec-line.ts";
import { ANY_ARGUMENTS, type Loaded } from "./registered-tool.ts";

/** A tool of a module that is not registered, because it could not be called; the module's others are. */
export interface OmittedTool {
  readonly name: string;
  /** Name of the module. */
  readonly module: string;
  /** The reason, as a `load_error` has it. */
  readonly message: string;
}

/** The engine's parts that preparing a tool needs. */
export interface PrepareContext {
  /** Registrant of the tool. */
  readonly registrant: string;
  /** The only tenant whose calls find the tool. */
  readonly tenant?: string;
  /** Evaluates a script in an isolate of its own and describes it. */
  readonly inspect: (script: ToolScript) => Promise<Inspection>;
  /** Drops a script that will not be called. */
  readonly forget: (key: string) => void;
  /** The engine's limits, as defaults for the tool's. */
  readonly limits: Limits;
  /** Ceiling for the limits that the tool may declare. */
  readonly maxLimits: Limits;
  /** Called for tools that are left out of a module. */
  readonly omitted?: (tool: OmittedTool) => void;
  /** Of the contracts in which modules may be written. */
  readonly readers: ModuleReaders;
  /** Runtimes other than JavaScript. */
  readonly runtimes: ToolRuntimes;
  /** A unique script key. */
  readonly nextKey: () => string;
  readonly packages: Pick<Packages, "load" | "options">;
  /** The folder of the operator's project, if it is not to be found above each tool. */
  readonly root?: string;
  /** Stores the files of native tools, by the keys of their scripts. */
  readonly binaries: Pick<Binaries, "keep">;
}

/** The lane of the registrant's builds; the operator's files and its definitions have separate lanes. */
export function laneOf({ registrant }: PrepareContext): string | null {
  return registrant === OPERATOR ? null : registrant;
}

/** Only the operator's files have a project around them: tools of other registrants have only their own folder. */
export function bundleContext(context: PrepareContext): BundleContext {
  const own = { lane: laneOf(context), packages: context.packages.options, runtimes: context.runtimes };
  if (context.registrant !== OPERATOR) return own;
  const home = homedir();
  // If the operator works in the home folder, that is a project like all others.
  const outer = process.cwd() === home ? {} : { home };
  return { ...own, project: { ...outer, ...(context.root !== undefined && { root: context.root }) } };
}

/** Evaluates a bundle in an isolate of its own. Throws a `GloveboxError` with `load_error` in words of the tool's author. */
export async function load(
  name: string,
  bundle: Bundle,
  context: PrepareContext,
  config: JsonValue | undefined,
  definition?: CheckedDefinition,
): Promise<Loaded> {
  // A JavaScript definition is always in Glovebox's own contract; modules on disk and of other runtimes may be in any.
  const contract = definition === undefined || bundle.runtime !== "javascript" ? null : "glovebox";
  const script: ToolScript = {
    key: context.nextKey(),
    name,
    version: definition?.version ?? "0.0.0",
    runtime: bundle.runtime,
    isolation: "instance",
    memoryMb: resolveLimits(context.limits, definition?.limits, context.maxLimits).memoryMb,
    config: writeAny(config ?? null),
    contract,
    checks: NO_CHECKS,
    text: bundle.text,
    ...(contract !== null && { showsConfig: true }),
    ...(bundle.isInterpreted === true && { isInterpreted: true }),
    registrant: context.registrant,
  };
  const inspection = await context.inspect(script);
  if (!inspection.ok) throw loadFailure(script, bundle, inspection.error);
  if (inspection.contract !== "tools" || bundle.runtime !== "javascript") return { ...inspection, key: script.key };
  context.forget(script.key);
  return describeSet(script, bundle, inspection, context);
}

/**
 * Evaluates a module with tools of libraries again, with the descriptions of their schemas: only such modules need
 * that.
 */
async function describeSet(
  script: ToolScript,
  bundle: Bundle,
  { evaluationMs }: Extract<Inspection, { ok: true }>,
  context: PrepareContext,
): Promise<Loaded> {
  const again = { ...script, key: context.nextKey(), text: describing(bundle.text, await loadDescriber()) };
  const inspection = await context.inspect(again);
  if (!inspection.ok) throw loadFailure(again, bundle, inspection.error);
  return { ...inspection, evaluationMs, key: again.key };
}

/** The code of the checks of a tool's schemas. Throws a `GloveboxError` with `load_error`. */
export async function checksOf(
  { name, inputSchema = ANY_ARGUMENTS, outputSchema }: CheckedDefinition,
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
  const mapped = typeof stack === "string" ? stackMapper(script.name, bundle)(stack) : undefined;
  if (mapped !== undefined) details["stack"] = mapped;
  const problem = error.message.slice(0, 2_000);
  const message = `tool "${script.name}" could not be loaded: ${problem}${placeInStack(mapped ?? "")}`;
  return new GloveboxError(error.code, message, { ...details, type: error.type });
}
