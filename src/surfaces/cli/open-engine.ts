import type { Engine, EngineOptions } from "../../index.ts";
import { CliError, EXIT } from "./exit.ts";
import { sampleCapabilities, samplePolicy, sampleTools } from "./samples.ts";

/** Starts an engine with the tools in a folder; where none is named, with the samples and what they are granted. */
export async function openEngine(folder: string | undefined, options: EngineOptions): Promise<Engine> {
  // Loading the engine takes longer than all that the commands do without it, such as showing their help.
  const { createEngine } = await import("../../engine.ts");
  if (folder !== undefined) return createEngine({ ...options, tools: [folder] });
  const samples = sampleTools();
  if (samples === undefined) {
    throw new CliError(EXIT.USAGE, "there are no sample tools here: name a folder of tools with --tools DIR");
  }
  return createEngine({ ...options, tools: [samples], capabilities: sampleCapabilities, policy: samplePolicy });
}
