import { concludeCall } from "./call-conclusion.ts";
import { readOrphan } from "../../fleet/wire/orphan-result.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import { markOf } from "../../tool/tool-mark.ts";

/**
 * The result of a call that ended on a machine after its server was lost. `null` where the tool is not the one that ran, since only
 * that one says how its answers are read, and what of them is not to be told.
 */
export function adoptResult(end: string, call: ToolCall, tool: RegisteredTool | undefined): ToolResult | null {
  const left = readOrphan(end);
  if (left === null || tool === undefined || left.tool !== markOf(tool).mark) return null;
  return concludeCall(left.reply, {
    callId: left.callId,
    tool,
    command: call.command,
    limits: left,
    queueMs: 0,
    attempts: 0,
    // What its server had refused is gone with it. What it had done matters only to ends that no machine leaves.
    lastRefusal: null,
    effects: 0,
    refusedForMs: () => 0,
  });
}
