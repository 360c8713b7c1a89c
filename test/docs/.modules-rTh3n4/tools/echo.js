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

export function echo(tool) {
  const { toolUseId, input } = tool;
  if (!input.message) {
    return { toolUseId, status: "error", content: [{ text: "No message provided" }] };
  }
  return { toolUseId, status: "success", content: [{ text: input.message }] };
}
