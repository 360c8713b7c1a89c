import { toolFactory } from "glovebox/tool";
import type { inventory } from "../inventory.ts";

// The type only: the capability's code stays in the host program.
const defineTool = toolFactory<[typeof inventory]>();

export default defineTool({
  name: "shop-count",
  description: "Counts an item in the shop.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  capabilities: { inventory: true },
  run: async ({ item }, { host }) => ({ item, left: await host.inventory.count({ item }) }),
});
