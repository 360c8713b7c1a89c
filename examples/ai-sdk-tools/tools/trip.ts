import { tool } from "ai";
import { z } from "zod";

export const weather = tool({
  description: "Get the weather in a location",
  inputSchema: z.object({ location: z.string().trim().min(2) }),
  execute: async ({ location }) => ({ location, temperature: 21 }),
});

export const route = tool({
  description: "Find a route, stop by stop",
  inputSchema: z.object({ stops: z.array(z.string()).min(2) }),
  async *execute({ stops }) {
    for (const [at, stop] of stops.entries()) yield { stop, of: `${at + 1}/${stops.length}` };
  },
});

let calls = 0;

export const counter = tool({
  description: "Count its own calls",
  inputSchema: z.object({}),
  execute: async () => ({ calls: ++calls }),
});
