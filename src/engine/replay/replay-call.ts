import { RecordedSession } from "../../broker/recorded-session.ts";
import { type CallHost, EngineCall } from "../call/engine-call.ts";
import { loadExecutor } from "../create-executor.ts";
import { bundlePrelude } from "../../tool/runtimes/prelude.ts";
import type { JsonValue } from "../../base/json.ts";
import { resolveOptions } from "../options.ts";
import { fixedKey } from "../../base/protocol/prelude.ts";
import { outcomeOf, type Recording, requireReplayable, toAnswers } from "./recording.ts";
import type { ToolResult } from "../../base/result.ts";
import type { Slot } from "../schedule/entry.ts";
import { readerOf, redactorOf, type RegisteredTool } from "../../tool/registered-tool.ts";
import { compileSchema } from "../../base/schema/schema.ts";
import { stackMapper } from "../../tool/bundle/stack.ts";

/** What came of running a recorded call again. */
export interface Replayed {
  readonly result: ToolResult;
  /** Whether output, error and log lines are what was recorded, to the byte. */
  readonly isSame: boolean;
}

/**
 * Runs a recorded call again, in an executor process of its own: on the clock, with the randomness, and with the
 * answers that were recorded. Nothing outside is asked, and the policy of today has no say. Rejects with a `TypeError`
 * where the call was not a function of what is recorded: it was ended from outside, or ran in a shared module.
 */
export async function replayCall(recording: Recording): Promise<Replayed> {
  requireReplayable(recording);
  const { executor: options } = resolveOptions({ executor: { kind: "process", spare: false } });
  let lastRun = 0;
  const nextRun = () => ++lastRun;
  const createExecutor = await loadExecutor(options);
  const executor = createExecutor({
    workers: 1,
    prelude: await bundlePrelude(),
    entropyKey: fixedKey(recording.seed),
    nextRun,
    tell: () => undefined,
  });
  try {
    await executor.start();
    const result = await run(recording, { executor, nextRun });
    const isSame = JSON.stringify(outcomeOf(result)) === JSON.stringify(recording.outcome);
    return { result, isSame };
  } finally {
    await executor.close();
  }
}

function run(recording: Recording, host: Pick<CallHost, "executor" | "nextRun">): Promise<ToolResult> {
  const { call, limits, startMs } = recording;
  const options = call.tenant === "" ? {} : { tenant: call.tenant };
  const session = new RecordedSession(recording.asks, toAnswers(recording), recording.refusal);
  return new Promise((resolve) => {
    const admitted = {
      callId: call.id,
      tool: toolOf(recording),
      args: call.arguments,
      command: call.command ?? undefined,
      limits,
      options,
      parent: null,
      nowMs: startMs,
      session,
    };
    const again = new EngineCall(admitted, {
      ...host,
      broker: { open: () => session },
      callTool: () => Promise.reject(new Error("a recorded call asks nothing of the world")),
      record: (_call, result) => result,
      onEnd: () => undefined,
    });
    again.onResult = resolve;
    again.start(NO_SLOT, 0);
  });
}

/** It is the only call there is. */
const NO_SLOT: Slot = { release: () => undefined };

/** The tool as it was, without what only its registration needed. */
function toolOf({ tool: { outputSchema, outputChars, sourceMap, ...script }, limits }: Recording): RegisteredTool {
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
    },
    script: { ...script, key: "recorded" },
    checkInput: compileSchema(true, "inputSchema"),
    checkOutput: outputSchema === null ? null : compileSchema(outputSchema, "outputSchema"),
    limits,
    askedLimits: {},
    capabilities: {},
    retries: 0,
    retryOn: "lost",
    redactor: redactorOf(script.contract, JSON.parse(script.config) as JsonValue),
    readResult: readerOf(script.contract),
    outputChars,
    // The limits that the call had are recorded.
    timeoutArgument: null,
    usage: { calls: 1, retired: false },
    sourceMap,
    mapStack: stackMapper(name, sourceMap, runtime),
  };
}
