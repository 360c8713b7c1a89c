import { isParsing } from "../../base/protocol/script.ts";
import { OPERATOR } from "../../broker/policy.ts";
import { RecordedSession } from "../../broker/recorded-session.ts";
import { concludeCall, withEnd } from "../call/conclude.ts";
import type { Executor } from "../../executor/executor.ts";
import { loadExecutor } from "../create-executor.ts";
import { loadPrelude } from "../../tool/runtimes/prelude.ts";
import { resolveOptions } from "../options.ts";
import { fixedKey } from "../../base/protocol/prelude.ts";
import { checksOf, outcomeOf, type Recording, requireReplayable, toAnswers } from "./recording.ts";
import type { ToolResult } from "../../base/result.ts";
import { readerOf, type RegisteredTool } from "../../tool/registered-tool.ts";
import { stackMapper } from "../../tool/bundle/stack.ts";

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
  const { executor: options } = resolveOptions({ executor: { kind: "process", spare: false } });
  let lastRun = 0;
  const nextCallNumber = () => ++lastRun;
  const createExecutor = await loadExecutor(options);
  const executor = createExecutor({
    workers: 1,
    prelude: await loadPrelude(),
    entropyKey: fixedKey(recording.seed),
    nextCallNumber,
    emit: () => undefined,
  });
  try {
    await executor.start();
    const result = await run(recording, executor, nextCallNumber());
    const isSame = JSON.stringify(outcomeOf(result)) === JSON.stringify(recording.outcome);
    return { result, isSame };
  } finally {
    await executor.close();
  }
}

function run(recording: Recording, executor: Executor, callNumber: number): Promise<ToolResult> {
  const { call, limits, startMs } = recording;
  const session = new RecordedSession(recording.asks, toAnswers(recording), recording.refusal, recording);
  const tool = toolOf(recording);
  const { id: callId, tenant, arguments: args } = call;
  const command = call.command ?? undefined;
  const end = session.end();
  const { lastRefusal } = end;
  const ended = { callId, tool, tenant, limits, queueMs: 0, attempts: 0, effects: 0, lastRefusal };
  return new Promise((resolve) => {
    executor.run({
      callNumber: callNumber,
      script: tool.script,
      tenant,
      callId,
      args,
      command,
      limits,
      waitMs: limits.queueMs,
      stream: false,
      ask: (request, respond) => session.invoke(request, respond),
      onLog: () => undefined,
      settle: (reply) => resolve(concludeCall(withEnd(reply, end), ended, executor)),
      replay: {
        plan: () => session.journal.plan(),
        onTimed: (step, nowMs) => session.journal.recordTime(step, nowMs),
        onLate: (fired, nowMs) => session.journal.recordLate(fired, nowMs),
        onTogether: (at, count) => session.journal.recordTogether(at, count),
        nowMs: startMs,
      },
    });
  });
}

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
    script: { ...script, key: "recorded", checks },
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
