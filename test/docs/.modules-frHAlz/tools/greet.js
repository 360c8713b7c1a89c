export const spec = {
  name: "greet",
  description: "Greets somebody.",
  inputSchema: {
    type: "object",
    properties: { name: { type: "string" }, language: { enum: ["en", "de"], default: "en" } },
    required: ["name"],
  },
  outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};
export default ({ name, language }) => ({ text: `${language === "de" ? "Hallo" : "Hello"}, ${name}!` });
