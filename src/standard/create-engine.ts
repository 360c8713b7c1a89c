// Adds its options to `EngineOptions`.
import "../connectors/engine/options.ts";
import { type Engine, startEngine } from "../kernel/engine/engine.ts";
import type { Plugin } from "../kernel/engine/plugin.ts";
import type { EngineOptions, ToolSource } from "../kernel/engine/options.ts";
import { type Recording, requireReplayable } from "../kernel/engine/replay/recording.ts";
import { RecordingReplays, type Replayed } from "../kernel/engine/replay/replay-recording.ts";
import type { ToolsOf } from "../kernel/engine/typed-engine.ts";
import type { RegisteredTools } from "../kernel/tool/register.ts";
import { PLUGINS } from "./plugins.ts";

/**
 * Starts an engine: its executor first, then its tools. Rejects with a `GloveboxError`: `load_error` if a tool cannot
 * be registered, `executor_lost` if the executor cannot start; with a `RangeError` or `TypeError` if an option is
 * invalid. The types of its tools come from definitions in `options.tools`, from a type argument such as `typeof
 * import("../contrib/amplifier/tools/index.ts")`, or from `Register`.
 */
export async function createEngine<const Sources extends readonly ToolSource[]>(
  options: EngineOptions<Sources> & { readonly tools: Sources },
): Promise<Engine<ToolsOf<Sources>>>;
export async function createEngine<Tools = RegisteredTools>(options?: EngineOptions): Promise<Engine<ToolsOf<Tools>>>;
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const engine = await startEngine({ ...options, plugins: [...PLUGINS, ...(options.plugins ?? [])] });
  engine.programsWith({
    restore: async (stored) => (await import("../code-mode/code-mode.ts")).restoreProgram(engine, stored),
    check: async (code, tenant) => (await import("../code-mode/check-program.ts")).checkProgram(engine, code, tenant),
  });
  return engine;
}

/**
 * Replays a recorded call in an executor process of its own, with the recorded clock, randomness and responses. No
 * capability is invoked, and the current policy does not apply. `plugins`: those of its engine. Rejects with a `TypeError`
 * if the call was not a function of the recorded data: it was ended from outside, or ran in a shared module.
 */
export async function replayCall(
  recording: Recording,
  { plugins = [] }: { readonly plugins?: readonly Plugin[] } = {},
): Promise<Replayed> {
  requireReplayable(recording);
  await using replays = await openReplays(plugins);
  return await replays.replay(recording);
}

/** Replays one recording after another in one process. */
export function openReplays(plugins: readonly Plugin[] = []): Promise<RecordingReplays> {
  return RecordingReplays.open([...PLUGINS, ...plugins]);
}
