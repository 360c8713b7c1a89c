export const spec = {
  name: "upper",
  description: "Writes a text in capitals.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  examples: [
    { input: { text: "a" }, output: "A" },
    { name: "a letter that has no capital", input: { text: "ß" }, output: "SS" },
    { name: "no text", input: {}, error: "invalid_arguments" },
  ],
};
export default ({ text }) => text.toUpperCase();
