import type { RegisteredTools } from "../tool/register.ts";
import { LocalEngine } from "./local-engine.ts";
import { type EngineOptions, resolveOptions, type ToolSource } from "./options.ts";
import type { Engine, ToolsOf } from "./typed-engine.ts";

export type { EngineStats } from "./engine-stats.ts";
export type { Engine } from "./typed-engine.ts";

/**
 * Starts an engine: its executor first, then its tools. Rejects with a `GloveboxError`: `load_error` if a tool cannot
 * be registered, `executor_lost` if the executor cannot start; with a `RangeError` or `TypeError` if an option is
 * invalid. The types of its tools come from definitions in `options.tools`, from a type argument such as `typeof
 * import("./tools/index.ts")`, or from `Register`.
 */
export async function createEngine<const Sources extends readonly ToolSource[]>(
  options: EngineOptions<Sources> & { readonly tools: Sources },
): Promise<Engine<ToolsOf<Sources>>>;
export async function createEngine<Tools = RegisteredTools>(options?: EngineOptions): Promise<Engine<ToolsOf<Tools>>>;
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  return LocalEngine.start(options, resolveOptions(options));
}
