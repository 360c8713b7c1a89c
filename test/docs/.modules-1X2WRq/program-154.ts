import { createEngine } from "glovebox";
import { inventory } from "./inventory.ts";

await using engine = await createEngine({
  workers: 1,
  tools: ["shop-count.ts"],
  capabilities: [inventory],
  policy: { rules: [{ tools: ["shop-count"], allow: { inventory: true } }] },
});
const { output } = await engine.execute({ name: "shop-count", arguments: { item: "pears" } });
console.log(output); // prints: 5
