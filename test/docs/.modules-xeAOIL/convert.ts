export const spec = {
  name: "convert_length",
  description: "Converts metres.",
  inputSchema: {
    type: "object",
    properties: { metres: { type: "number" }, to: { enum: ["ft", "km"] } },
    required: ["metres", "to"],
  },
};
export default ({ metres, to }: { metres: number; to: "ft" | "km" }) =>
  to === "ft" ? Math.round(metres / 0.3048) : metres / 1000;
