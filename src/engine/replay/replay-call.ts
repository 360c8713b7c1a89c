import { isParsing } from "../../base/protocol/script.ts";
import type { ToolResult } from "../../base/result.ts";
import { OPERATOR } from "../../broker/policy.ts";
import { readerOf, type RegisteredTool } from "../../tool/registered-tool.ts";
import { stackMapper } from "../../tool/bundle/stack.ts";
import { checksOf, outcomeOf, type Recording, requireReplayable } from "./recording.ts";
import { Replayer } from "./replayer.ts";

/** Result of a replay. */
export interface Replayed {
  readonly result: ToolResult;
  /** Whether output, error and log lines equal the recorded ones, byte for byte. */
  readonly isSame: boolean;
}

/**
 * Replays a recorded call in an executor process of its own, with the recorded clock, randomness and responses. No
 * capability is invoked, and the current policy does not apply. Rejects with a `TypeError` if the call was not a
 * function of the recorded data: it was ended from outside, or ran in a shared module.
 */
export async function replayCall(recording: Recording): Promise<Replayed> {
  requireReplayable(recording);
  await using replayer = await Replayer.open(1);
  return await replayIn(replayer, recording);
}

/** Replays a recorded call in a process that others are replayed in, too. */
export async function replayIn(replayer: Replayer, recording: Recording): Promise<Replayed> {
  const { result } = await replayer.run(toolOf(recording), recording.call, recording);
  return { result, isSame: JSON.stringify(outcomeOf(result)) === JSON.stringify(recording.outcome) };
}

let recordings = 0;

/** The recorded tool, without the parts that only registration needs. */
function toolOf(recording: Recording): RegisteredTool {
  const { outputSchema, outputChars, sourceMap, registrant = OPERATOR, digest = "", ...script } = recording.tool;
  const { limits } = recording;
  const checks = checksOf(recording);
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
    script: { ...script, key: `recorded ${++recordings}`, checks },
    limits,
    askedLimits: {},
    capabilities: {},
    retries: 0,
    retryOn: "lost",
    readResult: readerOf(script.contract, checks),
    outputChars,
    // The recorded limits already include the timeout argument.
    timeoutArgument: null,
    usage: { calls: 1, retired: false },
    files: [],
    sourceMap,
    mapStack: stackMapper(name, sourceMap, runtime),
  };
}
