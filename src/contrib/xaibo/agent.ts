import { GloveboxError } from "../../kernel/base/errors.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import { ContractError } from "../../kernel/tool/contracts/contract.ts";
import { xaibo } from "./contract/xaibo.ts";
import type { ToolLocation } from "../../kernel/tool/definition.ts";
import {
  type AgentConfig,
  AgentError,
  type AgentModuleConfig,
  PROTOCOL,
  readAgentConfig,
  textsOf,
} from "./agent-config.ts";
import { packageOf } from "./agent-package.ts";
import { toolProvider } from "./engine-provider.ts";
import { exchanged } from "./exchange.ts";
import type { LLM } from "./llm.ts";
import { type OneShotOptions, oneShotTools } from "./one-shot.ts";
import type { ToolProviderProtocol } from "./protocol.ts";

export interface AgentOptions
  extends OneShotOptions, Pick<ToolLocation, "capabilities" | "isolation" | "limits" | "tags"> {
  /** The project's folder: `tools.weather` is `tools/weather.py` in it, or in its folder `src`. */
  readonly folder: string;
  /** Python packages that its tools need, each as a line of `requirements.txt`. Default: the lines of the project's file. */
  readonly requirements?: readonly string[];
  /** The model of `OneShotTools`. */
  readonly llm?: LLM;
}

/** Outcome of one module of an agent. */
export interface AgentModule {
  readonly id: string;
  /** `ignored`: it provides no tools. `refused`: it does, and cannot be used here. */
  readonly state: "provides" | "ignored" | "refused";
  readonly tools: readonly string[];
  /** The reason for its refusal. */
  readonly reason: string | null;
}

export interface Agent {
  readonly id: string;
  readonly modules: readonly AgentModule[];
  /** The tools that the agent's exchange gives to its orchestrator. */
  readonly provider: ToolProviderProtocol;
}

const OWN = "xaibo.";
const MCP_REASON = "servers of the Model Context Protocol cannot be registered as tools; take it out of the exchange";

/** A module that provides tools. */
interface Found {
  readonly tools: readonly string[];
  readonly provider: ToolProviderProtocol;
  /** The module as a package; `null` for tools that need none. */
  readonly location: ToolLocation | null;
}

type Opened =
  | { readonly state: "provides"; readonly found: Found }
  | { readonly state: "ignored" }
  | { readonly state: "refused"; readonly reason: string };

interface Opening {
  readonly engine: Engine;
  readonly options: AgentOptions;
  readonly packages: AsyncDisposableStack;
}

/**
 * Registers the tools of an agent's configuration, a text of YAML or its value: Python functions, its own providers,
 * and prompts, selected by the exchange that it describes. Rejects with an `AgentError`, and then no tool is
 * registered.
 */
export async function loadAgent(engine: Engine, agent: unknown, options: AgentOptions): Promise<Agent> {
  const config = readAgentConfig(agent);
  await using packages = new AsyncDisposableStack();
  const found = new Map<string, Found>();
  const modules: AgentModule[] = [];
  for (const module of config.modules) {
    const opened = await open(module, config, { engine, options, packages }).catch((error: unknown) => {
      throw told(module.id, error);
    });
    if (opened.state === "provides") found.set(module.id, opened.found);
    const tools = opened.state === "provides" ? opened.found.tools : [];
    const reason = opened.state === "refused" ? opened.reason : null;
    modules.push({ id: module.id, state: opened.state, tools, reason });
  }
  requireNew(engine, found);
  const provider = exchanged(config, new Map([...found].map(([id, one]) => [id, one.provider])));
  await registerAll(engine, found);
  return { id: config.id, modules, provider };
}

async function open(module: AgentModuleConfig, config: AgentConfig, opening: Opening): Promise<Opened> {
  const className = module.module.slice(module.module.lastIndexOf(".") + 1);
  if (!module.module.startsWith(OWN)) return openOwn(module, className, config, opening);
  switch (className) {
    case "PythonToolProvider": {
      const names = textsOf(module.config["tool_packages"] ?? [], "tool_packages");
      if (names.length === 0) throw new AgentError("it has no tool_packages; name those of its functions");
      return { state: "provides", found: await openPython(module, names, FUNCTIONS, opening) };
    }
    case "OneShotTools": {
      const { llm } = opening.options;
      if (llm === undefined) return { state: "refused", reason: "it needs a model; give the option llm" };
      const provider = oneShotTools(module.config, llm, opening.options);
      const tools = (await provider.list_tools()).map(({ name }) => name);
      return { state: "provides", found: { tools, provider, location: null } };
    }
    case "MCPToolProvider":
      return { state: "refused", reason: MCP_REASON };
    default:
      return { state: "ignored" };
  }
}

/**
 * A class of the project. Without a declaration in the configuration, only its evaluation shows whether it provides
 * tools.
 */
async function openOwn(
  module: AgentModuleConfig,
  className: string,
  config: AgentConfig,
  opening: Opening,
): Promise<Opened> {
  const place = module.module.slice(0, -className.length - 1);
  const entry = `import ${place} as own\n\n\nclass ${className}(own.${className}):\n    pass\n`;
  const isSaid =
    module.provides.includes(PROTOCOL) ||
    config.exchange.some(({ protocol, providers }) => protocol === PROTOCOL && providers.includes(module.id));
  try {
    return { state: "provides", found: await openPython(module, [place], entry, opening) };
  } catch (error) {
    if (isSaid || !isKnown(error)) throw error;
    return { state: "ignored" };
  }
}

/** Its functions are called by a provider that rethrows their errors, so that a failure has its type. */
const FUNCTIONS = `from xaibo.primitives.modules.tools import PythonToolProvider as Base


class PythonToolProvider(Base):
    execute_tool = Base.run
`;

async function openPython(
  { id, config }: AgentModuleConfig,
  modules: readonly string[],
  entry: string,
  { engine, options, packages }: Opening,
): Promise<Found> {
  const { folder, requirements, llm: _llm, readImage: _readImage, callMs: _callMs, ...settings } = options;
  const { path } = packages.use(await packageOf({ id, folder, modules, entry, requirements }));
  const [report] = await engine.describe({ path, config });
  if (report?.contract !== "xaibo")
    throw new AgentError("it provides no tools: list_tools and execute_tool are missing");
  const tools = xaibo.readModule(report.described, id).map(({ name }) => name);
  if (tools.length === 0) throw new AgentError("its list of tools is empty; mark functions with @tool");
  // The module is evaluated again and may then list other tools: `names` rejects them.
  const location: ToolLocation = { ...settings, path, config, contract: "xaibo", names: tools };
  return { tools, provider: toolProvider(engine, { tools }), location };
}

function requireNew(engine: Engine, found: ReadonlyMap<string, Found>): void {
  const owners = new Map<string, string>();
  for (const [id, { tools }] of found) {
    for (const tool of tools) {
      const owner = owners.get(tool);
      const others = owner === undefined ? "which the engine has already" : `as module "${owner}" does`;
      if (owner !== undefined || engine.get(tool) !== undefined) {
        throw new AgentError(`module "${id}" has the tool "${tool}", ${others}; rename one, or leave one out`);
      }
      owners.set(tool, id);
    }
  }
}

async function registerAll(engine: Engine, found: ReadonlyMap<string, Found>): Promise<void> {
  const done: string[] = [];
  for (const [id, { tools, location }] of found) {
    if (location === null) continue;
    try {
      await engine.register(location);
      done.push(...tools);
    } catch (error) {
      for (const name of done) await engine.unregister(name);
      throw told(id, error);
    }
  }
}

function isKnown(error: unknown): error is Error {
  return [AgentError, ContractError, GloveboxError].some((known) => error instanceof known);
}

/** Other errors are bugs of this package. */
function told(id: string, error: unknown): unknown {
  return isKnown(error) ? new AgentError(`module "${id}": ${error.message}`, { cause: error }) : error;
}
