export const spec = {
  name: "upper",
  description: "Writes a text in capitals.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  outputSchema: { type: "string" },
};
export default ({ text }) => text.toUpperCase();
