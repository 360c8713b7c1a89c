import { isParsing } from "../../base/protocol/script.ts";
import type { ToolResult } from "../../base/result.ts";
import { OPERATOR } from "../../broker/policy.ts";
import { configShownBy, readerOf, type RegisteredTool } from "../../tool/registered-tool.ts";
import type { ModuleReaders } from "../../tool/contracts/contract.ts";
import { loadPrelude } from "../../tool/runtimes/prelude.ts";
import type { ToolRuntimes } from "../../tool/runtimes/runtime.ts";
import { type Plugin, resolvePlugins } from "../plugin.ts";
import { stackMapper } from "../../tool/bundle/stack.ts";
import { checksOf, outcomeOf, type Recording, requireReplayable } from "./recording.ts";
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
    const tool = toolOf(recording, this.#plugins, `recorded ${++this.#count}`);
    const { result } = await this.#replayer.run(tool, recording.call, recording);
    return { result, isSame: JSON.stringify(outcomeOf(result)) === JSON.stringify(recording.outcome) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#replayer[Symbol.asyncDispose]();
  }
}

interface ReplayPlugins {
  readonly readers: ModuleReaders;
  readonly runtimes: ToolRuntimes;
}

/** The recorded tool, without the parts that only registration needs. */
function toolOf(recording: Recording, { readers, runtimes }: ReplayPlugins, key: string): RegisteredTool {
  const { outputSchema, outputChars, sourceMap, registrant = OPERATOR, digest = "", ...script } = recording.tool;
  const { limits } = recording;
  const checks = checksOf(recording, readers);
  const { name, version, runtime, isolation, text } = script;
  // Recordings of earlier versions do not say it.
  const isInterpreted = script.isInterpreted ?? runtimes.get(runtime)?.isInterpreted;
  const interpreted = isInterpreted === true ? { isInterpreted } : {};
  return {
    info: {
      name,
      description: "recorded",
      version,
      tags: [],
      inputSchema: true,
      outputSchema,
      runtime,
      contract: script.contract ?? "glovebox",
      annotations: {},
      retries: 0,
      isolation,
      limits,
      capabilities: {},
      script: { bytes: Buffer.byteLength(text), evaluationMs: 0 },
      parses: isParsing({ text }) ? "isolate" : "host",
      registrant,
      digest,
    },
    script: { ...script, ...interpreted, ...configShownBy(script.contract, readers), key, checks },
    limits,
    askedLimits: {},
    capabilities: {},
    retries: 0,
    retryOn: "lost",
    ...readerOf(script.contract, checks, readers),
    takesCommands: true,
    outputChars,
    // The recorded limits already include the timeout argument.
    timeoutArgument: null,
    usage: { calls: 1, retired: false },
    files: [],
    sourceMap,
    mapStack: stackMapper(name, { sourceMap, runtime, ...interpreted }),
  };
}
