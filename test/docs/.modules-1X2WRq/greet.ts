import { defineTool } from "glovebox/tool";

export default defineTool({
  name: "greet",
  description: "Greets somebody by name.",
  inputSchema: {
    type: "object",
    properties: { name: { type: "string", minLength: 1 }, language: { enum: ["en", "de"], default: "en" } },
    required: ["name"],
  },
  outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  examples: [{ input: { name: "Ada" }, output: { text: "Hello, Ada!" } }],
  run({ name, language }, { progress }) {
    progress(1, 1);
    return { text: `${language === "en" ? "Hello" : "Hallo"}, ${name}!` };
  },
});
