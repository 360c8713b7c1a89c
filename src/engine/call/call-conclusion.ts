import { describeFailure, type FailedCall } from "./call-failure.ts";
import { readMetadata, readOutput } from "./call-output.ts";
import { toolError } from "../../base/errors.ts";
import type { CallReply } from "../../executor/executor.ts";
import type { Limits } from "../../base/limits.ts";
import { emptyMetadata, failure, type ToolResult } from "../../base/result.ts";

/** What is known of a call that has ended, besides its reply. */
export interface EndedCall extends FailedCall {
  readonly callId: string;
  readonly command: string | undefined;
  readonly limits: Pick<Limits, "outputBytes">;
  /** What waits and starts came to before those that the reply tells of. */
  readonly queueMs: number;
  readonly attempts: number;
}

/** The result of a call that ran: its output in the terms of its tool, without what may be keys of the tool's config. */
export function concludeCall(reply: CallReply, call: EndedCall): ToolResult {
  const concluded = conclude(reply, call);
  return call.tool.redactor?.result(concluded) ?? concluded;
}

function conclude(reply: CallReply, call: EndedCall): ToolResult {
  const { callId, tool, command, limits, queueMs, attempts } = call;
  try {
    const metadata = readMetadata(reply, callId, tool.info.name, queueMs, attempts);
    const { outcome } = reply;
    if (!outcome.ok) return failure(describeFailure(outcome.failure, call), metadata);
    // What a command answers with has no schema.
    return readOutput(outcome.json, command === undefined ? tool : { ...tool, checkOutput: null }, limits, metadata);
  } catch {
    // Only an executor that is no longer ours sends what is not JSON.
    const message = "the executor answered with something that cannot be read";
    return failure(toolError("executor_crashed", message), emptyMetadata(callId, tool.info.name, queueMs));
  }
}
