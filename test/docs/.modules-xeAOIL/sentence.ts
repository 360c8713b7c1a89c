export const spec = {
  name: "sentence",
  description: "Writes a fact as a sentence.",
  inputSchema: {
    type: "object",
    properties: { subject: { type: "string" }, value: { type: "number" }, unit: { type: "string" } },
    required: ["subject", "value", "unit"],
  },
};
export default ({ subject, value, unit }: { subject: string; value: number; unit: string }) =>
  `${subject} is ${value.toLocaleString("en")} ${unit} high.`;
