export const spec = {
  name: "sales",
  description: "Lists the sales of a store.",
  inputSchema: { type: "object", properties: { store: { type: "integer" } }, required: ["store"] },
  outputSchema: {
    type: "array",
    items: {
      type: "object",
      properties: { day: { type: "string" }, product: { type: "string" }, amount: { type: "number" } },
      required: ["day", "product", "amount"],
    },
  },
};

const DAYS = 30;

export default ({ store }: { store: number }) =>
  Array.from({ length: DAYS }, (_, day) => ({
    day: `2026-11-${String(day + 1).padStart(2, "0")}`,
    product: day % 2 === 0 ? "tea" : "coffee",
    amount: ((store * 7) % 10) * 10 + day,
  }));
