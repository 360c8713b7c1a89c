import { answer, type ToolResult, type ToolUse } from "./parts/strands.ts";

export const TOOL_SPEC = {
  name: "echo",
  description: "Returns the input message unchanged",
  inputSchema: {
    json: {
      type: "object",
      properties: { message: { type: "string", description: "Message to echo back" } },
      required: ["message"],
    },
  },
};

export const spec = { annotations: { readOnly: true, idempotent: true } };

export function echo(tool: ToolUse<{ message: string }>): ToolResult {
  const message = tool.input?.message ?? "";
  return message === "" ? answer(tool, "error", "No message provided") : answer(tool, "success", message);
}
