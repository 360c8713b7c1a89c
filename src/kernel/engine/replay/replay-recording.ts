import type { ToolResult } from "../../base/result.ts";
import { loadPrelude } from "../../tool/runtimes/prelude.ts";
import { type Plugin, resolvePlugins } from "../plugin.ts";
import { recordedTool, type ReplayPlugins } from "./recorded-tool.ts";
import { outcomeOf, type Recording, requireReplayable } from "./recording.ts";
import { Replayer } from "./replayer.ts";

/** Result of a replay. */
export interface Replayed {
  readonly result: ToolResult;
  /** Whether output, error and log lines equal the recorded ones, byte for byte. */
  readonly isSame: boolean;
}

/** Replays recordings in one executor process, with the given plugins alone. */
export class RecordingReplays implements AsyncDisposable {
  readonly #replayer: Replayer;
  readonly #plugins: ReplayPlugins;
  /** Each has a script of its own. */
  #count = 0;

  private constructor(replayer: Replayer, plugins: ReplayPlugins) {
    this.#replayer = replayer;
    this.#plugins = plugins;
  }

  static async open(plugins: readonly Plugin[]): Promise<RecordingReplays> {
    const { readers, runtimes, parts } = resolvePlugins(plugins);
    return new RecordingReplays(await Replayer.open(1, await loadPrelude(parts)), { readers, runtimes });
  }

  /** Rejects as `replayCall` does. */
  async replay(recording: Recording): Promise<Replayed> {
    requireReplayable(recording);
    const tool = recordedTool(recording, this.#plugins, `recorded ${++this.#count}`);
    const { result } = await this.#replayer.run(tool, recording.call, recording);
    return { result, isSame: JSON.stringify(outcomeOf(result)) === JSON.stringify(recording.outcome) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#replayer[Symbol.asyncDispose]();
  }
}
