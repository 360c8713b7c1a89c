import { amplifier } from "./contract/amplifier.ts";
import { ContractError } from "../../kernel/tool/contracts/contract.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import type { ToolLocation } from "../../kernel/tool/definition.ts";
import { eventsIn } from "./contributions.ts";
import { findModule, ModuleSourceError, type SourceOptions } from "./module-source.ts";
import { type MountPlan, type MountPlanEntry, readMountPlan } from "./mount-plan.ts";

/** Options for running a plan's modules, as for `engine.register`. */
export interface MountOptions
  extends SourceOptions, Pick<ToolLocation, "capabilities" | "isolation" | "limits" | "tags"> {
  /** Whether modules may replace existing tools of the engine, as when a plan is mounted again: default `false`. */
  readonly replace?: boolean;
}

/** Outcome of one module of a plan. Modules are mounted independently of each other. */
export interface MountedModule {
  readonly module: string;
  /** `skipped`: the module mounts no tool. `failed`: see `error`. */
  readonly state: "mounted" | "skipped" | "failed";
  /** Names of its tools. */
  readonly tools: readonly string[];
  /** Events that it contributes to `observability.events`. */
  readonly events: readonly string[];
  /**
   * `ModuleSourceError` if it cannot be found or used, `ContractError` if it violates its contract, `GloveboxError` if
   * it does not load.
   */
  readonly error: Error | null;
}

/**
 * Registers the tools of a mount plan with an engine, module by module, in order. Throws only a `MountPlanError`, for
 * an invalid plan: problems of a module are reported in its entry of the result.
 */
export async function mountPlan(
  engine: Engine,
  plan: unknown,
  options: MountOptions,
): Promise<readonly MountedModule[]> {
  const { tools }: MountPlan = readMountPlan(plan);
  const owners = new Map<string, string>();
  const mounted: MountedModule[] = [];
  for (const entry of tools) {
    const one = await mountModule(engine, entry, options, owners);
    for (const tool of one.tools) owners.set(tool, entry.module);
    mounted.push(one);
  }
  return mounted;
}

/** `owners`: modules that have mounted a tool, by the tool's name. */
async function mountModule(
  engine: Engine,
  entry: MountPlanEntry,
  { folder, roots, git, replace = false, ...location }: MountOptions,
  owners: ReadonlyMap<string, string>,
): Promise<MountedModule> {
  const { module, config } = entry;
  try {
    const sources = { folder, ...(roots === undefined ? {} : { roots }), ...(git === undefined ? {} : { git }) };
    const path = await findModule(entry, sources);
    const [report, ...others] = await engine.describe({ ...location, path, config });
    if (report === undefined || others.length > 0 || report.contract !== "amplifier") {
      const remedy = "name the one module that is meant, which has to export mount(coordinator, config)";
      throw new ModuleSourceError("invalid", module, "is no module of Amplifier's", remedy);
    }
    const tools = amplifier.readModule(report.described, report.name).map(({ name }) => name);
    const events = eventsIn(report.described);
    if (tools.length === 0) return { module, state: "skipped", tools, events, error: null };
    for (const tool of tools) {
      const owner = owners.get(tool);
      const others = owner === undefined ? "which the engine has already" : `as module "${owner}" does already`;
      if (owner === undefined && (replace || engine.get(tool) === undefined)) continue;
      throw new ContractError("amplifier", "", `module "${module}" mounts "${tool}", ${others}`);
    }
    // The module is evaluated again and may then declare other tools: `names` rejects them.
    await engine.register({ ...location, path, config, names: tools });
    return { module, state: "mounted", tools, events, error: null };
  } catch (error) {
    return { module, state: "failed", tools: [], events: [], error: requireKnown(error) };
  }
}

/** Other errors are bugs of this package or of the option `git`, not results of a module. */
function requireKnown(error: unknown): Error {
  const isKnown = [ModuleSourceError, ContractError, GloveboxError].some((known) => error instanceof known);
  if (error instanceof Error && isKnown) return error;
  throw error;
}
