import { defineCapability, type Plugin } from "glovebox";
import { ContractError, type ModuleReader } from "glovebox/contracts";

/** Reads what the adapter says of a module. It comes from an isolate that ran a stranger's code, so nothing of it is trusted. */
const reader: ModuleReader = {
  name: "recipes",
  readModule(described, name) {
    const { title, takes } = Object(described) as { readonly title?: unknown; readonly takes?: unknown };
    if (typeof title !== "string") throw new ContractError("recipes", "/title", "must be a text");
    if (!Array.isArray(takes) || !takes.every((one) => typeof one === "string")) {
      throw new ContractError("recipes", "/takes", "must be a list of names");
    }
    const properties = Object.fromEntries(takes.map((one) => [one, { type: "number" }]));
    return [{ name, description: title, inputSchema: { type: "object", properties, required: takes } }];
  },
};

const stock = new Map([["eggs", 3]]);

/** Gives an engine the contract `recipes`, and its tools the capability `pantry`. */
export const recipes: Plugin = {
  name: "recipes",
  contracts: [{ reader, adapter: new URL("adapter.ts", import.meta.url) }],
  capabilities: [
    defineCapability({
      name: "pantry",
      methods: {
        left: {
          input: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
          output: { type: "integer" },
          handler: ({ item }) => stock.get(item) ?? 0,
        },
      },
    }),
  ],
};
