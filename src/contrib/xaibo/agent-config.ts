import { isObject, type JsonValue } from "../../kernel/base/json.ts";
import { readYaml, YamlError } from "../../kernel/base/yaml-text.ts";

/** A module of an agent. */
export interface AgentModuleConfig {
  readonly id: string;
  /** Python path of its class: `xaibo.primitives.modules.tools.PythonToolProvider`. */
  readonly module: string;
  readonly provides: readonly string[];
  readonly config: Readonly<Record<string, JsonValue>>;
}

/** Providers of a protocol for a module. */
export interface ExchangeEntry {
  readonly module: string;
  readonly protocol: string;
  readonly providers: readonly string[];
}

/** An agent's configuration, as far as its tools need it. */
export interface AgentConfig {
  readonly id: string;
  readonly modules: readonly AgentModuleConfig[];
  readonly exchange: readonly ExchangeEntry[];
}

/** An agent whose configuration or tools cannot be used; the message begins with the wrong part. */
export class AgentError extends Error {
  override readonly name = "AgentError";
}

/** The protocol of providers of tools. */
export const PROTOCOL = "ToolProviderProtocol";
const TEXT_MAX = 1024 * 1024;
const LIST_MAX = 1_000;
const NAME_MAX = 200;
const CLASS = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/;

/** Reads a configuration: YAML, JSON, or the value of either. Throws an `AgentError`. */
export function readAgentConfig(agent: unknown): AgentConfig {
  const value = typeof agent === "string" ? parse(agent) : agent;
  if (!isObject(value)) throw new AgentError("the agent must be an object with an id and modules");
  const modules = listOf(value["modules"], "modules").map((one, at) => readModule(one, `modules/${at}`));
  const seen = new Set<string>();
  for (const { id } of modules) {
    if (seen.size === seen.add(id).size) throw new AgentError(`modules has the id "${id}" twice; rename one`);
  }
  const exchange = listOf(value["exchange"] ?? [], "exchange").map((one, at) => readEntry(one, `exchange/${at}`, seen));
  return { id: textOf(value["id"], "id"), modules, exchange };
}

function parse(text: string): unknown {
  if (text.length > TEXT_MAX) throw new AgentError(`the agent has more than ${TEXT_MAX} characters`);
  try {
    return readYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new AgentError(`the agent is not YAML: ${error.message}`, { cause: error });
  }
}

function readModule(value: unknown, place: string): AgentModuleConfig {
  if (!isObject(value)) throw new AgentError(`${place} must be an object with an id and a module`);
  const { config, provides } = value;
  const module = textOf(value["module"], `${place}/module`);
  if (!CLASS.test(module)) throw new AgentError(`${place}/module must be "package.module.Class"`);
  if (config !== undefined && config !== null && !isObject(config)) {
    throw new AgentError(`${place}/config must be an object`);
  }
  return {
    id: textOf(value["id"], `${place}/id`),
    module,
    provides: textsOf(provides ?? [], `${place}/provides`),
    // From YAML or JSON; other members are checked when a tool is registered with it.
    config: (config ?? {}) as AgentModuleConfig["config"],
  };
}

function readEntry(value: unknown, place: string, ids: ReadonlySet<string>): ExchangeEntry {
  if (!isObject(value)) throw new AgentError(`${place} must be an object with a module, a protocol and a provider`);
  const { provider } = value;
  const providers = textsOf(typeof provider === "string" ? [provider] : provider, `${place}/provider`);
  const module = textOf(value["module"], `${place}/module`);
  for (const id of [module, ...providers]) {
    // Xaibo's own names, such as `__entry__`.
    if (ids.has(id) || id.startsWith("__")) continue;
    throw new AgentError(`${place} names the module "${id}", and modules has none with this id`);
  }
  return { module, protocol: textOf(value["protocol"], `${place}/protocol`), providers };
}

export function listOf(value: unknown, place: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new AgentError(`${place} must be a list`);
  if (value.length > LIST_MAX) throw new AgentError(`${place} has more than ${LIST_MAX} entries`);
  return value;
}

export function textsOf(value: unknown, place: string): readonly string[] {
  return listOf(value, place).map((one, at) => textOf(one, `${place}/${at}`));
}

function textOf(value: unknown, place: string): string {
  if (typeof value === "string" && value !== "" && value.length <= NAME_MAX) return value;
  throw new AgentError(`${place} must be a text of 1 to ${NAME_MAX} characters`);
}
