import { defineCapability } from "glovebox";

const stock = new Map([["apples", 3]]);

/** The handler runs in this process. Its types, and those of `host.inventory` in tools, follow from the schemas. */
export const inventory = defineCapability({
  name: "inventory",
  rateLimit: { calls: 100, perMs: 1_000 },
  methods: {
    count: {
      input: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
      output: { type: "integer" },
      handler: ({ item }) => stock.get(item) ?? 0,
    },
  },
});
