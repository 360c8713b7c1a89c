import { toolFactory } from "glovebox/tool";
import type { inventory } from "../inventory.ts";

const defineTool = toolFactory<[typeof inventory]>();

/** Asks for the same, and no rule of the policy allows it. */
export default defineTool({
  name: "stranger",
  description: "Counts apples.",
  capabilities: { inventory: true },
  run: (_input, { host }) => host.inventory.count({ item: "apples" }),
});
