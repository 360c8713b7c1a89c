import type { Configuration, Override } from "../config/configuration.ts";
import type { Config } from "../config/schema.ts";
import type { Engine } from "../../engine/engine.ts";
import type { EngineOptions } from "../../engine/options.ts";
import { CliError, EXIT } from "./exit.ts";
import { sampleCapabilities, samplePolicy, sampleTools } from "./samples.ts";

/** Where a command finds its tools, and what they are allowed. */
export interface Sources {
  /** A folder of tools, or one module, instead of those that the configuration names. */
  readonly tools?: string | undefined;
  /** The configuration's file, instead of the one in the working directory. */
  readonly config?: string | undefined;
}

/** What a command uses: the file that it names, else the one of `GLOVEBOX_CONFIG`, else the one that is here, else none; and what goes before it. */
export async function readSettings(
  file: string | undefined,
  flags: readonly Override[] = [],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Configuration> {
  const { ConfigError } = await import("../config/config-error.ts");
  const { findConfig } = await import("../config/config-file.ts");
  const { readConfiguration } = await import("../config/configuration.ts");
  const { readEnvironment } = await import("../config/environment.ts");
  try {
    const named = file ?? (environment["GLOVEBOX_CONFIG"] || undefined);
    const overrides = [...readEnvironment(environment), ...flags];
    return await readConfiguration(named ?? (await findConfig(process.cwd())), overrides);
  } catch (error) {
    throw error instanceof ConfigError ? new CliError(EXIT.USAGE, error.message) : error;
  }
}

/** The values of that. */
export async function readConfig(file: string | undefined): Promise<Config> {
  return (await readSettings(file)).values;
}

/**
 * Starts an engine with the tools that are named, and what the configuration says of all else; where neither names
 * any, with the samples and what they are granted.
 */
export async function openEngine({ tools }: Sources, config: Config, options: EngineOptions): Promise<Engine> {
  // Loading the engine takes longer than all that the commands do without it, such as showing their help.
  const { createEngine } = await import("../../engine/engine.ts");
  const named = tools === undefined ? config : { ...config, tools: [tools] };
  return orUsage(createEngine({ ...withSamples(engineOptions(named)), ...options }));
}

/** Starts an engine without any tools, with what the configuration says of all else. */
export async function openEmptyEngine(config: Config, options: EngineOptions): Promise<Engine> {
  const { createEngine } = await import("../../engine/engine.ts");
  const { tools: _tools, ...rest } = engineOptions(config);
  return orUsage(createEngine({ ...rest, ...options }));
}

/** Rejects as `createEngine` does, and starts nothing: no tool is looked at. */
export async function checkOptions(config: Config): Promise<void> {
  const { resolveOptions } = await import("../../engine/options.ts");
  const { createBroker } = await import("../../engine/create-broker.ts");
  await createBroker(resolveOptions(engineOptions(config)), () => undefined).close();
}

/** What a configuration says of the engine. */
export function engineOptions(config: Config): EngineOptions {
  const { host: _host, port: _port, reusePort: _reusePort, bodyBytes: _bodyBytes, assets: _assets, ...rest } = config;
  const { keys: _keys, hosts: _hosts, publicUrl: _publicUrl, origins: _origins, admin: _admin, ...others } = rest;
  const { drainMs: _drainMs, drainDelayMs: _drainDelayMs, logLevel: _logLevel, machine: _machine, ...options } = others;
  return options;
}

/** The options, with the samples where they name no tools. */
export function withSamples(options: EngineOptions): EngineOptions {
  if (options.tools !== undefined) return options;
  const samples = sampleTools();
  if (samples === undefined) {
    throw new CliError(EXIT.USAGE, "no sample tools are installed: name a folder of tools with --tools DIR");
  }
  const rules = [...samplePolicy.rules, ...(options.policy?.rules ?? [])];
  return { ...options, tools: [samples], capabilities: sampleCapabilities, policy: { rules } };
}

/** What is wrong with an option was written by whoever wrote the configuration. */
export async function orUsage<Value>(starting: Promise<Value>): Promise<Value> {
  try {
    return await starting;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new CliError(EXIT.USAGE, error.message);
    throw error;
  }
}
