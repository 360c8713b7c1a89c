import type { Command } from "commander";
import type { Configuration, Override } from "../server/config/configuration.ts";
import type { Config } from "../server/config/schema.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import type { EngineOptions } from "../kernel/engine/options.ts";
import { CliError, EXIT } from "./exit.ts";
import { whileLoading } from "./progress.ts";
import { sampleCapabilities, samplePolicy, sampleTools } from "./samples.ts";

/** Options of commands that open an engine: their flags and help. */
export const TOOLS = [
  "--tools <dir>",
  "folder of tools (default: the configuration's tools, else the samples)",
] as const;
export const CONFIG = [
  "--config <file>",
  "configuration file (default: glovebox.config.yaml or .json in this folder, if present)",
] as const;

/**
 * Adds the folder of tools as an argument, which people type first: the same as `--tools`. The action gets it before
 * its options.
 */
export function withFolder(command: Command): Command {
  return command.argument("[dir]", "folder of tools, as with --tools").hook("preAction", (_this, { args: [dir] }) => {
    if (dir === undefined) return;
    if (command.getOptionValue("tools") !== undefined) {
      throw new CliError(EXIT.USAGE, `two folders of tools, ${dir} and that of --tools: name one of them`);
    }
    command.setOptionValueWithSource("tools", dir, "cli");
  });
}

/** Sources of a command's tools and configuration. */
export interface Sources {
  /** A folder of tools, or one module, instead of the configured tools. */
  readonly tools?: string | undefined;
  /** Configuration file, instead of the one in the working directory. */
  readonly config?: string | undefined;
}

/**
 * Reads a command's configuration: the named file, else `GLOVEBOX_CONFIG`, else the file in the working directory, else
 * none; environment variables and flags override it.
 */
export async function readSettings(
  file: string | undefined,
  flags: readonly Override[] = [],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Configuration> {
  const { ConfigError } = await import("../server/config/config-error.ts");
  const { chosenConfig } = await import("../server/config/config-file.ts");
  const { readConfiguration } = await import("../server/config/configuration.ts");
  const { readEnvironment } = await import("../server/config/environment.ts");
  try {
    const overrides = [...readEnvironment(environment), ...flags];
    return await readConfiguration(await chosenConfig(file, environment), overrides);
  } catch (error) {
    throw error instanceof ConfigError ? new CliError(EXIT.USAGE, error.message) : error;
  }
}

/** The values of `readSettings`. */
export async function readConfig(file: string | undefined): Promise<Config> {
  return (await readSettings(file)).values;
}

/**
 * Starts an engine with the named tools, or the configured ones; if there are neither, nor connectors, with the samples
 * and their grants.
 */
export async function openEngine({ tools }: Sources, config: Config, options: EngineOptions): Promise<Engine> {
  // Load the engine only here: that takes longer than the rest of commands such as `--help`.
  const { createEngine } = await import("../standard/create-engine.ts");
  const named = tools === undefined ? config : { ...config, tools: [tools] };
  const given = { ...withSamples(engineOptions(named)), ...options };
  return whileLoading(() => orUsage(createEngine(given)));
}

/** Starts an engine without tools; other options come from the configuration. */
export async function openEmptyEngine(config: Config, options: EngineOptions): Promise<Engine> {
  const { createEngine } = await import("../standard/create-engine.ts");
  const { tools: _tools, ...rest } = engineOptions(config);
  return orUsage(createEngine({ ...rest, ...options }));
}

/** Capabilities of an engine, and names in its policy's rules that it does not have. */
interface PolicyNames {
  readonly capabilities: readonly string[];
  readonly unknown: readonly { readonly rule: number; readonly name: string }[];
}

/** Validates options: rejects as `createEngine` does, but starts no executor and loads no tool. */
export async function checkOptions(config: Config): Promise<PolicyNames> {
  const { resolveOptions } = await import("../kernel/engine/options.ts");
  const { PLUGINS } = await import("../standard/plugins.ts");
  const { createBroker } = await import("../kernel/engine/create-broker.ts");
  const { loadExecutor, loadStores } = await import("../kernel/engine/create-executor.ts");
  const options = resolveOptions({ ...engineOptions(config), plugins: PLUGINS });
  const broker = createBroker(options, {
    onOutcome: () => {},
    onSecretViolation: () => {},
    onThreadDeath: () => {},
    onThrottled: () => {},
  });
  try {
    await loadStores(options);
    await loadExecutor(options.executor);
    return { capabilities: [...broker.grants.capabilities.keys()], unknown: broker.grants.unknown() };
  } finally {
    await broker.close();
  }
}

/** The engine's options in a configuration. */
export function engineOptions(config: Config): EngineOptions {
  const { host: _host, port: _port, reusePort: _reusePort, bodyBytes: _bodyBytes, assets: _assets, ...rest } = config;
  const {
    keys: _keys,
    hosts: _hosts,
    publicUrl: _publicUrl,
    origins: _origins,
    admin: _admin,
    agentspace: _agentspace,
    ...others
  } = rest;
  const { drainMs: _drainMs, drainDelayMs: _drainDelayMs, logLevel: _logLevel, machine: _machine, ...options } = others;
  return options;
}

/** Whether options name tools, or connectors that bring some. */
export function namesTools({ tools, connectors = {} }: Pick<EngineOptions, "tools" | "connectors">): boolean {
  return tools !== undefined || Object.keys(connectors).length > 0;
}

/** Adds the samples to options that name neither tools nor connectors, whose tools are what is meant then. */
export function withSamples(options: EngineOptions): EngineOptions {
  if (namesTools(options)) return options;
  const samples = sampleTools();
  if (samples === undefined) {
    throw new CliError(
      EXIT.USAGE,
      "no tools are named: name a folder of them with --tools DIR, or in glovebox.config.yaml with tools: [DIR]; tools: [] starts without any",
    );
  }
  const rules = [...samplePolicy.rules, ...(options.policy?.rules ?? [])];
  return { ...options, tools: [samples], capabilities: sampleCapabilities, policy: { rules } };
}

/** Reports invalid options as usage errors: they come from the configuration or the command line. */
export async function orUsage<Value>(starting: Promise<Value>): Promise<Value> {
  try {
    return await starting;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new CliError(EXIT.USAGE, error.message);
    throw error;
  }
}
