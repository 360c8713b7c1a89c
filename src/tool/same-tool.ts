import type { RegisteredTool } from "./registered-tool.ts";

/**
 * Whether two tools do the same in the same way: calls need not be sent to the other one, and its isolates stay warm.
 * How long each took to be evaluated says nothing of that.
 */
export function isSameTool(one: RegisteredTool, other: RegisteredTool): boolean {
  return substanceOf(one) === substanceOf(other);
}

function substanceOf(tool: RegisteredTool): string {
  const { info, script, askedLimits, retryOn, outputChars, timeoutArgument } = tool;
  const { script: _measured, ...said } = info;
  const { key: _key, ...run } = script;
  return JSON.stringify([said, run, askedLimits, retryOn, outputChars, timeoutArgument]);
}
