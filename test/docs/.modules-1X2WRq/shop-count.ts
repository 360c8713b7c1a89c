import { toolFactory } from "glovebox/tool";
import type { inventory } from "./inventory.ts";

const defineTool = toolFactory<[typeof inventory]>();

export default defineTool({
  name: "shop-count",
  description: "Counts an item in the shop.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  capabilities: { inventory: true },
  run: ({ item }, { host }) => host.inventory.count({ item }),
});
