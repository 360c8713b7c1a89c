import { tool } from "ai";
import { z } from "zod";

export const weather = tool({
  description: "Get the weather in a location",
  inputSchema: z.object({ location: z.string().trim().min(2), unit: z.enum(["C", "F"]).default("C") }),
  execute: async ({ location, unit }) => ({ location, temperature: unit === "C" ? 21 : 70 }),
});

export const pack = tool({
  description: "Pack a suitcase, item by item",
  inputSchema: z.object({ items: z.array(z.string()).max(10) }),
  async *execute({ items }) {
    for (const [at, item] of items.entries()) yield { packed: at + 1, last: item };
  },
});
