/** Runs calls with keys and says each result in a line; each effect is a line of a file. Waits then, to be killed. */
import { appendFileSync } from "node:fs";
import { createEngine, defineCapability, type IdempotencyOptions } from "../../../../src/glovebox/index.ts";

const [store = "{}", effects = "", tool = "", ...keys] = process.argv.slice(2);
const shop = defineCapability({
  name: "shop",
  methods: {
    order: {
      handler: ({ item }: { item: string }) => {
        appendFileSync(effects, `${item}\n`);
        return process.pid;
      },
    },
  },
});
const engine = await createEngine({
  executor: "threads",
  workers: 1,
  capabilities: [shop],
  policy: { rules: [{ allow: { shop: true } }] },
  idempotency: JSON.parse(store) as IdempotencyOptions,
});
const order = "async ({ item }, { host }) => ({ item, by: await host.shop.order({ item }) })";
const never = "async ({ item }, { host }) => { await host.shop.order({ item }); await new Promise(() => {}); }";
const capabilities = { shop: true };
const description = "Orders something.";
await engine.register({ name: "order", description, capabilities, source: `export default ${order}` });
await engine.register({ name: "never", description, capabilities, source: `export default ${never}` });
await Promise.all(
  keys.map(async (item) => {
    const { output, error, metadata } = await engine.execute(
      { name: tool, arguments: { item } },
      { idempotencyKey: item },
    );
    console.log(
      JSON.stringify({ item, output, code: error?.code ?? null, isRepeated: metadata["isRepeated"] === true }),
    );
  }),
);
console.log("done");
setInterval(() => undefined, 1_000);
