import type { Config, Engine, EngineOptions } from "../../index.ts";
import { CliError, EXIT } from "./exit.ts";
import { sampleCapabilities, samplePolicy, sampleTools } from "./samples.ts";

/** Where a command finds its tools, and what they are allowed. */
export interface Sources {
  /** A folder of tools, or one module, instead of those that the configuration names. */
  readonly tools?: string | undefined;
  /** The configuration's file, instead of the one in the working directory. */
  readonly config?: string | undefined;
}

/** Reads the configuration that a command uses: the one that it names, else the one that is here, else none. */
export async function readConfig(file: string | undefined): Promise<Config> {
  const { ConfigError, findConfig, loadConfig } = await import("../../config/load.ts");
  const found = file ?? (await findConfig(process.cwd()));
  if (found === undefined) return {};
  try {
    return await loadConfig(found);
  } catch (error) {
    throw error instanceof ConfigError ? new CliError(EXIT.USAGE, error.message) : error;
  }
}

/**
 * Starts an engine with the tools that are named, and what the configuration says of all else; where neither names
 * any, with the samples and what they are granted.
 */
export async function openEngine({ tools }: Sources, config: Config, options: EngineOptions): Promise<Engine> {
  // Loading the engine takes longer than all that the commands do without it, such as showing their help.
  const { createEngine } = await import("../../engine.ts");
  const named = tools === undefined ? config.tools : [tools];
  const merged = { ...ofEngine(config), ...options };
  if (named !== undefined) return orUsage(createEngine({ ...merged, tools: named }));
  const samples = sampleTools();
  if (samples === undefined) {
    throw new CliError(EXIT.USAGE, "there are no sample tools here: name a folder of tools with --tools DIR");
  }
  const rules = [...samplePolicy.rules, ...(config.policy?.rules ?? [])];
  return orUsage(createEngine({ ...merged, tools: [samples], capabilities: sampleCapabilities, policy: { rules } }));
}

/** Starts an engine without any tools, with what the configuration says of all else. */
export async function openEmptyEngine(config: Config, options: EngineOptions): Promise<Engine> {
  const { createEngine } = await import("../../engine.ts");
  return orUsage(createEngine({ ...ofEngine(config), tools: [], ...options }));
}

/** What of a configuration is not the server's. */
function ofEngine(config: Config): EngineOptions {
  const {
    host: _host,
    port: _port,
    keys: _keys,
    hosts: _hosts,
    publicUrl: _url,
    origins: _origins,
    ...engine
  } = config;
  return engine;
}

/** What is wrong with an option was written by whoever wrote the configuration. */
async function orUsage(starting: Promise<Engine>): Promise<Engine> {
  try {
    return await starting;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new CliError(EXIT.USAGE, error.message);
    throw error;
  }
}
