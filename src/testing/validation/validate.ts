import { realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { Engine } from "../../kernel/engine/engine.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import type { EventMap } from "../../kernel/engine/telemetry/events.ts";
import type { ToolInfo } from "../../kernel/tool/definition.ts";
import type { ModuleReport } from "../../kernel/tool/registrar.ts";
import { readPyproject } from "../../python/runtime/pyproject.ts";
import { findSources } from "../../kernel/tool/source.ts";
import { RUNTIMES } from "../../standard/plugins.ts";
import { findModule, ModuleSourceError, modulesIn } from "../../contrib/amplifier/module-source.ts";
import { checkBehaviour } from "./behaviour.ts";
import { type Check, error, info, pass } from "./check.ts";
import { checkNodeNames, lintTool } from "./names.ts";
import { checkSchemas } from "./schemas.ts";
import { checkStrands } from "./strands.ts";
import { checkAmplifier } from "./structure.ts";

/** A module with its checks. It is valid if no check is an `error`. */
export interface Validation {
  readonly module: string;
  /** Contract of the module; `null` if it does not load. */
  readonly contract: ToolInfo["contract"] | null;
  readonly checks: readonly ToolCheck[];
}

export interface ToolCheck extends Check {
  /** Tool of the check; absent for a check of the module. */
  readonly tool?: string;
}

/** A module to check, with problems found while locating it. */
interface Candidate {
  readonly module: string;
  readonly path: string;
  readonly checks: readonly Check[];
}

const NO_CONTRACT =
  "exports what no contract asks for: neither mount(coordinator, config), nor a tool of defineTool, a default function, TOOL_SPEC, " +
  "AgentSpaceV1Tool, a provider with list_tools and execute_tool, or tools of a library";

/**
 * Checks the modules at a path against their contracts. They are loaded, mounted and called in isolates of `engine`,
 * which should have no grants; their tools stay registered with it. Rejects with a `GloveboxError` if there is no
 * module.
 */
export async function validateModules(engine: Engine, given: string): Promise<readonly Validation[]> {
  const owners = new Map<string, string>();
  const validations: Validation[] = [];
  for (const candidate of await candidatesAt(given)) validations.push(await validate(engine, candidate, owners));
  return validations;
}

/** Modules named in the folder's `package.json`; without any, the modules in the folder. */
async function candidatesAt(given: string): Promise<readonly Candidate[]> {
  const isFolder = (await stat(given).catch(() => undefined))?.isDirectory() === true;
  const named = isFolder ? [...(await modulesIn(given)).keys()] : [];
  if (named.length > 0) return Promise.all(named.map((module) => entryPoint(module, given)));
  const sources = await findSources(given, { runtimes: RUNTIMES });
  return sources.map(({ name, path: file }) => ({
    module: name,
    path: sources.length === 1 ? given : file,
    checks: [],
  }));
}

async function entryPoint(module: string, folder: string): Promise<Candidate> {
  try {
    const found = await findModule({ module, config: {} }, { folder });
    return { module, path: found, checks: [] };
  } catch (problem) {
    if (!(problem instanceof ModuleSourceError)) throw problem;
    return { module, path: "", checks: [error("entry point", problem.message)] };
  }
}

/** `owners`: module of each tool, by the tool's name. */
async function validate(
  engine: Engine,
  { module, path: file, checks }: Candidate,
  owners: Map<string, string>,
): Promise<Validation> {
  if (file === "") return { module, contract: null, checks };
  const report = await loading(engine.describe(file));
  if (report instanceof GloveboxError) return { module, contract: null, checks: [error("load", report.message)] };
  const [found] = report;
  if (found === undefined) return { module, contract: null, checks: [error("load", "holds no module")] };
  const structure = [pass("load", "loads in an isolate"), ...(await checkStructure(found, file))];
  const { contract } = found;
  if (structure.some(({ level, about }) => level === "error" || (level === "info" && about === "tool"))) {
    return { module, contract, checks: structure };
  }
  return { module, contract, checks: [...structure, ...(await checkTools(engine, module, file, owners))] };
}

async function checkStructure(report: ModuleReport, file: string): Promise<readonly Check[]> {
  if (report.contract === "glovebox" && report.defaultExport !== "function") return [error("contract", NO_CONTRACT)];
  if (report.contract === "strands") return checkStrands(report.described);
  if (report.contract === "tools") return checkLibraries(report.described);
  if (report.contract !== "amplifier") return [pass("contract", `is written in ${report.contract}`)];
  return [await checkEntryPoint(file, report.runtime), ...checkAmplifier(report)];
}

/** Reports the libraries of a module's tools. */
function checkLibraries(described: unknown): readonly Check[] {
  const { tools, problem, refused } = Object(described) as { readonly [name: string]: unknown };
  if (typeof problem === "string") return [error("contract", problem)];
  if (Array.isArray(tools) && tools.length === 0 && Array.isArray(refused))
    return refused.map((one) => error("contract", String(Reflect.get(Object(one), "problem"))));
  const places = (Array.isArray(tools) ? tools : []).map(
    (tool) => Object(tool) as { readonly place?: unknown; readonly library?: unknown },
  );
  const found = places.map(({ place, library }) => `${String(place)} (${String(library)})`);
  return [pass("contract", `exports tools of libraries: ${[...new Set(found)].join(", ").slice(0, PLACES_MAX)}`)];
}

/** Maximum length of the list of a module's tools. */
const PLACES_MAX = 1_000;

/** Checks that `package.json`, or the `pyproject.toml` of a Python project, names the module, so that others find it. */
async function checkEntryPoint(given: string, runtime: ToolInfo["runtime"]): Promise<Check> {
  const project = runtime === "python" ? await readPyproject(given).catch(() => undefined) : undefined;
  if (project !== undefined && project.modules.size > 0) {
    return pass("entry point", `is ${[...project.modules.keys()].map((name) => JSON.stringify(name)).join(", ")}`);
  }
  const [source] = await findSources(given, { runtimes: RUNTIMES });
  const file = await realpath(source?.path ?? given);
  const folder = path.dirname(file);
  const manifest = await stat(path.join(folder, "package.json")).catch(() => undefined);
  if (manifest === undefined) {
    const file = runtime === "python" ? "pyproject.toml" : "package.json";
    return info("entry point", `there is no ${file}, so it is found by its path only`);
  }
  for (const [module, entry] of await modulesIn(folder)) {
    if (path.resolve(folder, entry.split(":")[0] ?? "") === file) return pass("entry point", `is "${module}"`);
  }
  if (runtime === "python") return info("entry point", "is in no pyproject.toml, so it is found by its path only");
  const line = `"amplifier": { "modules": { "my-tool": "./${path.basename(file)}:mount" } }`;
  return error("entry point", `is missing in package.json; add ${line}`);
}

async function checkTools(
  engine: Engine,
  module: string,
  file: string,
  owners: Map<string, string>,
): Promise<readonly ToolCheck[]> {
  const tools: ToolInfo[] = [];
  const onRegister = (...[{ info: tool }]: EventMap["tool:register"]): void => void tools.push(tool);
  const checks: ToolCheck[] = [];
  const onOmit = (...[{ name, message }]: EventMap["tool:omit"]): void =>
    void checks.push({ ...error("tool", message), tool: name });
  engine.on("tool:register", onRegister).on("tool:omit", onOmit);
  const registered = await loading(engine.register({ path: file }));
  engine.off("tool:register", onRegister).off("tool:omit", onOmit);
  if (registered instanceof GloveboxError) return [error("tool", registered.message)];
  for (const tool of tools) {
    const owner = owners.get(tool.name);
    if (owner !== undefined) checks.push(error("name", `"${tool.name}" is the name of a tool of ${owner} as well`));
    owners.set(tool.name, module);
    const found = [
      ...lintTool(tool),
      ...checkNodeNames(tool),
      ...checkSchemas(tool),
      ...(await checkBehaviour(engine, tool)),
    ];
    checks.push(...found.map((check): ToolCheck => ({ ...check, tool: tool.name })));
  }
  return checks;
}

/** Returns a `load_error` as a value, because it is a finding about the module. */
async function loading<Value>(work: Promise<Value>): Promise<Value | GloveboxError> {
  try {
    return await work;
  } catch (problem) {
    if (problem instanceof GloveboxError && problem.code === "load_error") return problem;
    throw problem;
  }
}
