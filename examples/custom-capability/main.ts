import { createEngine, defineCapability } from "glovebox";

const stock = new Map([["apples", 3]]);

// The handler runs in this process. Tools reach it as host.inventory.count(…), where they are granted it.
const inventory = defineCapability({
  name: "inventory",
  rateLimit: { calls: 100, perMs: 1_000 },
  methods: {
    count: {
      input: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
      output: { type: "integer" },
      handler: ({ item }: { item: string }) => stock.get(item) ?? 0,
    },
  },
});

await using engine = await createEngine({
  workers: 1,
  capabilities: [inventory],
  policy: { rules: [{ tools: ["shop-*"], allow: { inventory: true } }] },
});
engine.on("capability:call", ({ tool, capability, method, outcome }) => {
  console.log(`${tool}: ${capability}.${method} ${outcome}`);
});

const tool = {
  description: "Counts an item.",
  source: "export default async ({ item }, { host }) => host.inventory.count({ item })",
  capabilities: { inventory: true as const },
};
await engine.register({ ...tool, name: "shop-count" });
await engine.register({ ...tool, name: "stranger" });

const counted = await engine.execute({ name: "shop-count", arguments: { item: "apples" } });
console.log(counted.output);

const denied = await engine.execute({ name: "stranger", arguments: { item: "apples" } });
console.log(denied.error?.code);
