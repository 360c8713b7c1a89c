import { createEngine } from "glovebox";

const refund = {
  name: "refund",
  description: "Pays an order back.",
  inputSchema: { type: "object", properties: { order: { type: "string" }, amount: { type: "number" } } },
  approval: { when: { properties: { amount: { exclusiveMinimum: 100 } } }, message: "Refunds above 100 are looked at" },
  source: "export default ({ order, amount }) => `paid back ${amount} for ${order}`;",
} as const;

/** Calls that wait are in a file, which all processes share. */
export const openEngine = (folder: string) =>
  createEngine({ tools: [refund], workers: 1, calls: { path: `${folder}/calls.sqlite` } });
