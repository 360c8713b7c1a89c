import type { CapabilityReport, ToolRegistry, Workflow, WorkflowTrouble } from "../contrib/strands/index.ts";
import { CliError, EXIT } from "./exit.ts";
import { openEmptyEngine, readConfig, type Sources } from "./open-engine.ts";
import { say } from "./output.ts";

/** A parsed workflow, its capability report, and the tools available to it. */
export interface OpenedWorkflow extends AsyncDisposable {
  readonly spec: Workflow;
  readonly report: CapabilityReport;
  readonly registry: ToolRegistry;
}

/** The option of commands that open a workflow: its flags and help. */
export const NATIVE_TOOLS = [
  "--tools <dir>",
  "folder of native tools (default: the configuration's, else calculator, echo, js_exec and python_exec)",
] as const;

const ENGINE = { workers: 1, executor: { kind: "process", spare: false } } as const;

const EXITS: { readonly [Trouble in WorkflowTrouble]: number } = {
  schema: EXIT.INVALID,
  runtime: EXIT.RUNTIME,
  io: EXIT.IO,
  unsupported: EXIT.UNSUPPORTED,
};

/** Whether an argument names a workflow's file rather than a tool. */
export function isWorkflow(argument: string): boolean {
  return /\.ya?ml$/i.test(argument);
}

/** Runs a workflow command; its errors get the documented exit codes. */
export async function orExit<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { WorkflowError } = await import("../contrib/strands/index.ts");
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof WorkflowError) throw new CliError(EXITS[error.trouble], message);
    const { GloveboxError } = await import("../kernel/base/errors.ts");
    throw new CliError(error instanceof GloveboxError ? EXIT.RUNTIME : EXIT.UNEXPECTED, message);
  }
}

/** Discovers the tools available to workflows. Invalid modules are reported on stderr. */
export async function openRegistry(sources: Sources): Promise<ToolRegistry> {
  const config = await readConfig(sources.config);
  const tools = sources.tools ?? config.tools;
  const { ToolRegistry } = await import("../contrib/strands/index.ts");
  const engine = await openEmptyEngine(config, ENGINE);
  try {
    return await ToolRegistry.discover({ engine, ...(tools === undefined ? {} : { tools }), logger: { warn } });
  } catch (error) {
    await engine.close();
    const { GloveboxError } = await import("../kernel/base/errors.ts");
    throw error instanceof GloveboxError ? new CliError(EXIT.USAGE, error.message) : error;
  }
}

/** Reads a workflow and checks whether it can run. */
export async function openWorkflow(file: string, sources: Sources): Promise<OpenedWorkflow> {
  const { check_capability, load_spec } = await import("../contrib/strands/index.ts");
  const spec = await load_spec(file);
  const registry = await openRegistry(sources);
  const close = () => registry.engine.close();
  try {
    return { spec, registry, report: await check_capability(spec, registry), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

function warn(fields: object, message: string): void {
  const said = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  say(`[warn] ${message} ${said.join(" ")}`);
}
