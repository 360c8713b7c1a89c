import { LocalEngine } from "./local-engine.ts";
import { type EngineOptions, resolveOptions } from "./options.ts";
import type { Engine } from "./typed-engine.ts";

export type { EngineStats } from "./engine-stats.ts";
export type { Engine } from "./typed-engine.ts";

/** Starts an engine with only the plugins of its options. Rejects as `createEngine` does. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  return LocalEngine.start(options, resolveOptions(options));
}
