// Tools of Mastra's documentation: https://mastra.ai/docs/agents/using-tools and the template of `create mastra`.
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

export const weatherTool = createTool({
  id: "weather-tool",
  description: "Fetches weather for a location",
  inputSchema: z.object({ location: z.string() }),
  outputSchema: z.object({ weather: z.string() }),
  execute: async ({ location }) => ({ weather: `${location}: +21°C` }),
});

export const testTool = createTool({
  id: "test-tool",
  description: "It's a test tool",
  inputSchema: z.object({ name: z.string(), age: z.number().default(7) }),
  execute: async ({ name, age }, { requestContext }) => ({
    greeting: `${name} is ${age}`,
    has: typeof requestContext.get,
  }),
});

export const calculatorTool = createTool({
  id: "calculator",
  description: "Performs basic math",
  inputSchema: z.object({ operation: z.enum(["add", "multiply"]), a: z.number(), b: z.number() }),
  outputSchema: z.object({ result: z.number() }),
  execute: async ({ operation, a, b }) => ({ result: operation === "add" ? a + b : a * b }),
});

export const stockTool = createTool({
  id: "get_stock_price",
  description: "Get the price of a stock",
  inputSchema: z.object({ symbol: z.string().toUpperCase() }),
  execute: async ({ symbol }) => ({ symbol, price: 100 + symbol.length }),
});

export const reverseTool = createTool({
  id: "reverse",
  description: "Reverse the input string",
  inputSchema: z.object({ input: z.string() }),
  outputSchema: z.object({ output: z.string() }),
  execute: async ({ input }) => ({ output: input.split("").reverse().join("") }),
});

export const wrongOutput = createTool({
  id: "wrong_output",
  description: "Returns what its schema refuses",
  inputSchema: z.object({}),
  outputSchema: z.object({ count: z.number().refine((count) => count > 3, "too few") }),
  execute: async () => ({ count: 1 }),
});
