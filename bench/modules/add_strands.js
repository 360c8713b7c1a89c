export const TOOL_SPEC = {
  name: "add_strands",
  description: "Adds two numbers.",
  inputSchema: { json: { type: "object" } },
};

export function add_strands({ toolUseId, input: { a, b } }) {
  return { toolUseId, status: "success", content: [{ json: { sum: a + b } }] };
}
