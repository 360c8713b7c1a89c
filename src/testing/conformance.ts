import { createEngine } from "../standard/create-engine.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import type { ToolDefinition, ToolInfo, ToolLocation } from "../kernel/tool/definition.ts";
import { CHECKS, type Conduct } from "./conformance-checks.ts";
import { sampleInput } from "./sample-input.ts";

type Inputs = readonly Readonly<Record<string, unknown>>[];

export interface ConformanceOptions {
  /** Engine to use, for a tool that needs capabilities or other tools. Default: a new one. */
  readonly engine?: Engine;
  /** Valid arguments for the tool, or by name for several tools. Default: generated from the schema. */
  readonly inputs?: Inputs | { readonly [tool: string]: Inputs };
  /** Whether equal arguments give equal output. Default: true; false for a tool that depends on time or randomness. */
  readonly isDeterministic?: boolean;
}

/** Result of one check. */
export interface CheckResult {
  readonly tool: string;
  readonly check: string;
  readonly ok: boolean;
  readonly message: string;
}

const INPUTS_MAX = 100;

/**
 * Checks a tool of any contract in an engine's sandbox: registration, definition, results and their repeatability,
 * invalid arguments, output as JSON within its limit, cancellation, concurrency, and translation to other contracts.
 * The result has a line for each check of each tool; fix the first failure first. Rejects only if an engine cannot be
 * started.
 */
export async function conformance(
  tool: ToolDefinition | ToolLocation | string,
  options: ConformanceOptions = {},
): Promise<readonly CheckResult[]> {
  if (options.engine !== undefined) return checkIn(options.engine, tool, options);
  await using engine = await createEngine({ workers: 1 });
  return await checkIn(engine, tool, options);
}

async function checkIn(
  engine: Engine,
  tool: ToolDefinition | ToolLocation | string,
  options: ConformanceOptions,
): Promise<readonly CheckResult[]> {
  const registered: ToolInfo[] = [];
  const note = ({ info }: { readonly info: ToolInfo }) => void registered.push(info);
  engine.on("tool:register", note);
  try {
    await engine.register(tool);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [{ tool: nameOf(tool), check: "registers", ok: false, message }];
  } finally {
    engine.off("tool:register", note);
  }
  const results: CheckResult[] = [];
  for (const info of registered) results.push(...(await checkTool(engine, info, options)));
  return results;
}

async function checkTool(engine: Engine, info: ToolInfo, options: ConformanceOptions): Promise<readonly CheckResult[]> {
  const { name, contract } = info;
  const given = inputsOf(options.inputs, name);
  const made = given === undefined ? sampleInput(info.inputSchema) : null;
  const conduct: Conduct = {
    engine,
    info,
    inputs: given?.slice(0, INPUTS_MAX) ?? (made === null ? [] : [made]),
    isGiven: given !== undefined,
    isDeterministic: options.isDeterministic ?? true,
  };
  const results: CheckResult[] = [{ tool: name, check: "registers", ok: true, message: `as a ${contract} tool` }];
  for (const [check, run] of CHECKS) results.push({ tool: name, check, ...(await run(conduct)) });
  return results;
}

function inputsOf(inputs: ConformanceOptions["inputs"], name: string): Inputs | undefined {
  if (inputs === undefined || isList(inputs)) return inputs;
  return Object.hasOwn(inputs, name) ? inputs[name] : undefined;
}

function isList(inputs: NonNullable<ConformanceOptions["inputs"]>): inputs is Inputs {
  return Array.isArray(inputs);
}

/** Display name of an unregistered tool: its name, or the last part of its path. */
function nameOf(tool: ToolDefinition | ToolLocation | string): string {
  if (typeof tool !== "string" && "name" in tool) return String(tool.name).slice(0, 128);
  const path = typeof tool === "string" ? tool : tool.path;
  return String(path).split(/[/\\]/).at(-1)?.slice(0, 128) ?? "";
}
