import { isParsing } from "../../base/protocol/script.ts";
import type { ToolResult } from "../../base/result.ts";
import { OPERATOR } from "../../broker/policy.ts";
import { readerOf, type RegisteredTool } from "../../tool/registered-tool.ts";
import type { ModuleReaders } from "../../tool/contracts/contract.ts";
import { loadPrelude } from "../../tool/runtimes/prelude.ts";
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
  readonly #readers: ModuleReaders;
  /** Each has a script of its own. */
  #count = 0;

  private constructor(replayer: Replayer, readers: ModuleReaders) {
    this.#replayer = replayer;
    this.#readers = readers;
  }

  static async open(plugins: readonly Plugin[]): Promise<RecordingReplays> {
    const { readers, adapters } = resolvePlugins(plugins);
    return new RecordingReplays(await Replayer.open(1, await loadPrelude(adapters)), readers);
  }

  /** Rejects as `replayCall` does. */
  async replay(recording: Recording): Promise<Replayed> {
    requireReplayable(recording);
    const tool = toolOf(recording, this.#readers, `recorded ${++this.#count}`);
    const { result } = await this.#replayer.run(tool, recording.call, recording);
    return { result, isSame: JSON.stringify(outcomeOf(result)) === JSON.stringify(recording.outcome) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#replayer[Symbol.asyncDispose]();
  }
}

/** The recorded tool, without the parts that only registration needs. */
function toolOf(recording: Recording, readers: ModuleReaders, key: string): RegisteredTool {
  const { outputSchema, outputChars, sourceMap, registrant = OPERATOR, digest = "", ...script } = recording.tool;
  const { limits } = recording;
  const checks = checksOf(recording, readers);
  const { name, version, runtime, isolation, text } = script;
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
    script: { ...script, key, checks },
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
    mapStack: stackMapper(name, sourceMap, runtime),
  };
}
