import { defineTool } from "glovebox/tool";

const FEET = 3.28084;

export default defineTool({
  name: "convert_length",
  description: "Converts a length between metres and feet.",
  inputSchema: {
    type: "object",
    properties: { value: { type: "number" }, to: { enum: ["m", "ft"] } },
    required: ["value", "to"],
  },
  run({ value, to }) {
    const converted = to === "ft" ? value * FEET : value / FEET;
    return { value: Math.round(converted * 10) / 10, unit: to };
  },
});
