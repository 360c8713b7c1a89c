import { amplifier } from "../../tool/contracts/amplifier.ts";
import { ContractError } from "../../tool/contracts/contract.ts";
import type { Engine } from "../../engine/engine.ts";
import { GloveboxError } from "../../base/errors.ts";
import type { ToolLocation } from "../../tool/definition.ts";
import { eventsIn } from "./contributions.ts";
import { findModule, ModuleSourceError, type SourceOptions } from "./module-source.ts";
import { type MountPlan, type MountPlanEntry, readMountPlan } from "./mount-plan.ts";

/** How a module of a plan is to be run, besides what the plan says; as for `engine.register`. */
export interface MountOptions
  extends SourceOptions, Pick<ToolLocation, "capabilities" | "isolation" | "limits" | "tags"> {
  /** Whether modules may take the names of tools that the engine has already, as a plan does that is mounted again: default `false`. */
  readonly replace?: boolean;
}

/** What became of a module of a plan. Others are mounted whatever becomes of one. */
export interface MountedModule {
  readonly module: string;
  /** `skipped`: it mounts nothing here, and says so itself. `failed`: see `error`. */
  readonly state: "mounted" | "skipped" | "failed";
  /** Under which names its tools are called. */
  readonly tools: readonly string[];
  /** The events that it contributes to `observability.events`. */
  readonly events: readonly string[];
  /** `ModuleSourceError` where it is not to be had, `ContractError` where it is no module, `GloveboxError` where it does not load. */
  readonly error: Error | null;
}

/**
 * Registers the tools of a mount plan with an engine, module by module, in its order. Throws a `MountPlanError` where
 * the plan is not valid, and nothing else: what is wrong with a module is in its place in the answer.
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

/** `owners`: the modules that have mounted a tool of a name already. */
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
    // It is loaded once more, and may say something else then.
    await engine.register({ ...location, path, config, names: tools });
    return { module, state: "mounted", tools, events, error: null };
  } catch (error) {
    return { module, state: "failed", tools: [], events: [], error: requireKnown(error) };
  }
}

/** Whatever else is thrown is a mistake of ours, or of the option `git`, and not something to be told of a module. */
function requireKnown(error: unknown): Error {
  const isKnown = [ModuleSourceError, ContractError, GloveboxError].some((known) => error instanceof known);
  if (error instanceof Error && isKnown) return error;
  throw error;
}
