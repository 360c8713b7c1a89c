import type { EngineCall } from "../call/engine-call.ts";
import { seedOf } from "../../base/protocol/prelude.ts";
import { FORMAT, outcomeOf, type Recording, recordJournal } from "./recording.ts";
import type { ToolResult } from "../../base/result.ts";

/** Puts everything of which a call was a function into its result's metadata. */
export function recordCall(call: EngineCall, result: ToolResult, entropyKey: string): ToolResult {
  const { callId, tenant, args, command, limits, clockMs, run, session } = call;
  const { key: _key, ...script } = call.tool.script;
  const recording: Recording = {
    format: FORMAT,
    tool: {
      ...script,
      outputChars: call.tool.outputChars,
      outputSchema: call.tool.info.outputSchema,
      sourceMap: call.tool.sourceMap,
    },
    call: { id: callId, tenant, arguments: args, command: command ?? null },
    limits,
    startMs: clockMs,
    seed: seedOf(entropyKey, `${run}`),
    ...recordJournal(session?.journal ?? null),
    refusal: session?.lastRefusal ?? null,
    outcome: outcomeOf(result),
  };
  return { ...result, metadata: { ...result.metadata, recording } };
}
