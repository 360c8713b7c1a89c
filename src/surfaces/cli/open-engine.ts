import { createEngine, type Engine } from "../../engine.ts";
import type { EngineOptions } from "../../options.ts";
import { CliError, EXIT } from "./exit.ts";
import { sampleCapabilities, samplePolicy, sampleTools } from "./samples.ts";

/** Starts an engine with the tools in a folder; where none is named, with the samples and what they are granted. */
export async function openEngine(folder: string | undefined, options: EngineOptions = {}): Promise<Engine> {
  if (folder !== undefined) return createEngine({ ...options, tools: [folder] });
  const samples = sampleTools();
  if (samples === undefined) {
    throw new CliError(EXIT.USAGE, "there are no sample tools here: name a folder of tools with --tools DIR");
  }
  return createEngine({ ...options, tools: [samples], capabilities: sampleCapabilities, policy: samplePolicy });
}
