import { defineCapability } from "glovebox";

export const inventory = defineCapability({
  name: "inventory",
  methods: {
    count: {
      input: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
      output: { type: "integer" },
      handler: ({ item }) => item.length,
    },
  },
});
