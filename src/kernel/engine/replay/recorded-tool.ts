import { isParsing } from "../../base/protocol/script.ts";
import { OPERATOR } from "../../broker/policy.ts";
import { stackMapper } from "../../tool/bundle/stack.ts";
import type { ModuleReaders } from "../../tool/contracts/contract.ts";
import { configShownBy, readerOf, type RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRuntimes } from "../../tool/runtimes/runtime.ts";
import { checksOf, type Recording } from "./recording.ts";

/** Parts of plugins to run recorded tools. */
export interface ReplayPlugins {
  readonly readers: ModuleReaders;
  readonly runtimes: ToolRuntimes;
}

/** The recorded tool, without the parts that only registration needs. `key`: a unique key of its script. */
export function recordedTool(
  recording: Pick<Recording, "tool" | "limits">,
  { readers, runtimes }: ReplayPlugins,
  key: string,
): RegisteredTool {
  const { outputSchema, outputChars, sourceMap, registrant = OPERATOR, digest = "", ...script } = recording.tool;
  const { limits } = recording;
  const checks = checksOf(recording, readers);
  const { name, version, runtime, isolation, text } = script;
  // Missing in recordings of earlier versions.
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
