const properties = { store: { type: "integer" } };
export const spec = {
  name: "sales",
  description: "Lists the sales of a store, each with day and amount.",
  inputSchema: { type: "object", properties, required: ["store"] },
};

export default ({ store }: { store: number }) =>
  Array.from({ length: 30 }, (_, day) => ({ day: `2026-11-${day + 1}`, amount: ((store * 7) % 10) * 10 + day }));
