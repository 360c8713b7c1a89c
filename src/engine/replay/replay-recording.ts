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

/** Replays a recorded call with the given plugins alone. Rejects as `replayCall` does. */
export async function replayRecording(recording: Recording, plugins: readonly Plugin[]): Promise<Replayed> {
  requireReplayable(recording);
  const { readers, adapters } = resolvePlugins(plugins);
  await using replayer = await Replayer.open(1, await loadPrelude(adapters));
  const { result } = await replayer.run(toolOf(recording, readers), recording.call, recording);
  return { result, isSame: JSON.stringify(outcomeOf(result)) === JSON.stringify(recording.outcome) };
}

/** The recorded tool, without the parts that only registration needs. */
function toolOf(recording: Recording, readers: ModuleReaders): RegisteredTool {
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
    script: { ...script, key: "recorded", checks },
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
