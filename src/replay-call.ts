import { RecordedSession } from "./broker/recorded-session.ts";
import { type CallHost, EngineCall } from "./engine-call.ts";
import { createExecutor } from "./executor/create.ts";
import { bundlePrelude } from "./executor/prelude.ts";
import { resolveOptions } from "./options.ts";
import { fixedKey } from "./protocol/seed.ts";
import { outcomeOf, type Recording, toAnswers } from "./recording.ts";
import type { ToolResult } from "./result.ts";
import type { Slot } from "./schedule/entry.ts";
import type { RegisteredTool } from "./tool/prepare.ts";
import { compileSchema } from "./tool/schema.ts";
import { stackMapper } from "./tool/stack.ts";

/** What came of running a recorded call again. */
export interface Replayed {
  readonly result: ToolResult;
  /** Whether output, error and log lines are what was recorded, to the byte. */
  readonly isSame: boolean;
}

/**
 * Runs a recorded call again, in an executor process of its own: on the clock, with the randomness, and with the
 * answers that were recorded. Nothing outside is asked, and the policy of today has no say.
 */
export async function replayCall(recording: Recording): Promise<Replayed> {
  const { executor: options } = resolveOptions({ executor: { kind: "process", spare: false } });
  let lastRun = 0;
  const nextRun = () => ++lastRun;
  const executor = createExecutor(options, {
    workers: 1,
    prelude: await bundlePrelude(),
    entropyKey: fixedKey(recording.seed),
    nextRun,
    tell: () => undefined,
  });
  try {
    await executor.start();
    const host = {
      executor,
      broker: { open: () => new RecordedSession(recording.asks, toAnswers(recording), recording.refusal) },
      nextRun,
    };
    const result = await run(recording, host);
    const isSame = JSON.stringify(outcomeOf(result)) === JSON.stringify(recording.outcome);
    return { result, isSame };
  } finally {
    await executor.close();
  }
}

function run(recording: Recording, host: Pick<CallHost, "executor" | "broker" | "nextRun">): Promise<ToolResult> {
  const { call, limits, startMs } = recording;
  const options = call.tenant === "" ? {} : { tenant: call.tenant };
  return new Promise((resolve) => {
    const admitted = {
      callId: call.id,
      tool: toolOf(recording),
      args: call.arguments,
      limits,
      options,
      parent: null,
      nowMs: startMs,
    };
    const again = new EngineCall(admitted, {
      ...host,
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
function toolOf({ tool: { outputSchema, sourceMap, ...script }, limits }: Recording): RegisteredTool {
  const { name, version, isolation, text } = script;
  return {
    info: {
      name,
      description: "recorded",
      version,
      tags: [],
      inputSchema: true,
      outputSchema,
      runtime: "javascript",
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
    usage: { calls: 1, retired: false },
    sourceMap,
    mapStack: stackMapper(name, sourceMap),
  };
}
