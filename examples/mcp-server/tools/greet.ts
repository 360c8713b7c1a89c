import { defineTool } from "glovebox/tool";

export default defineTool({
  name: "greet",
  description: "Greets somebody.",
  inputSchema: { type: "object", properties: { name: { type: "string", minLength: 1 } }, required: ["name"] },
  run: ({ name }) => ({ text: `Hello, ${name}!` }),
});
