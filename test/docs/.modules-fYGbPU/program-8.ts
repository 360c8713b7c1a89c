import { createEngine, defineCapability } from "glovebox";

const stock = new Map([["apples", 3]]);
const inventory = defineCapability({
  name: "inventory",
  rateLimit: { calls: 100, perMs: 1_000 }, // for each tenant
  methods: {
    count: {
      input: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
      output: { type: "integer" },
      handler: ({ item }, { progress }) => {
        progress("looking");
        return stock.get(item) ?? 0;
      },
    },
  },
});

await using engine = await createEngine({
  workers: 1,
  capabilities: [inventory],
  policy: { rules: [{ tools: ["shop-*"], allow: { inventory: true } }] },
});
const source = "export default async ({ item }, { host }) => host.inventory.count({ item })";
const asks = { description: "Counts an item.", source, capabilities: { inventory: true } };
await engine.register({ ...asks, name: "shop-count" });
await engine.register({ ...asks, name: "stranger" });

const call = { item: "apples" };
console.log((await engine.execute({ name: "shop-count", arguments: call })).output); // prints: 3
console.log((await engine.execute({ name: "stranger", arguments: call })).error?.code); // prints: capability_denied
