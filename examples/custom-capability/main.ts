import { createEngine, unwrap } from "glovebox";
import { inventory } from "./inventory.ts";
import type shopCount from "./tools/shop-count.ts";
import type stranger from "./tools/stranger.ts";

await using engine = await createEngine<[typeof shopCount, typeof stranger]>({
  workers: 1,
  tools: ["./tools"],
  capabilities: [inventory],
  policy: { rules: [{ tools: ["shop-*"], allow: { inventory: true } }] },
});
engine.on("capability:call", ({ tool, capability, method, outcome }) => {
  console.log(`${tool}: ${capability}.${method} ${outcome}`);
});

const { left } = unwrap(await engine.tools["shop-count"]({ item: "apples" }));
console.log(left.toFixed(1));

const denied = await engine.tools.stranger({});
console.log(denied.error?.code);
