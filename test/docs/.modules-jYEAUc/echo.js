export const TOOL_SPEC = {
  name: "echo",
  description: "Returns the input message unchanged",
  inputSchema: { json: { type: "object", properties: { message: { type: "string" } }, required: ["message"] } },
};

export function echo({ toolUseId, input }) {
  if (!input.message) return { toolUseId, status: "error", content: [{ text: "No message provided" }] };
  return { toolUseId, status: "success", content: [{ text: input.message }] };
}
