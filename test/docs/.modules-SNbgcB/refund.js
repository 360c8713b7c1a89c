export const spec = {
  name: "refund",
  description: "Pays an order back.",
  inputSchema: { type: "object", properties: { order: { type: "string" }, amount: { type: "number" } } },
  approval: { when: { properties: { amount: { exclusiveMinimum: 100 } }, required: ["amount"] } },
};

export default ({ order, amount }) => `${order}: ${amount}`;
