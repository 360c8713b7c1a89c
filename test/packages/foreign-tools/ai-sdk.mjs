// Tools of the AI SDK's documentation: https://ai-sdk.dev/docs/ai-sdk-core/tools-and-tool-calling and the cookbook.
import { dynamicTool, jsonSchema, tool } from "ai";
import { z } from "zod";

export const weather = tool({
  description: "Get the weather in a location",
  inputSchema: z.object({
    location: z.string().describe("The location to get the weather for"),
  }),
  execute: async ({ location }) => ({
    location,
    temperature: 72 + (location.length % 21) - 10,
  }),
});

export const convertFahrenheitToCelsius = tool({
  description: "Convert a temperature in fahrenheit to celsius",
  inputSchema: z.object({
    temperature: z.number().describe("The temperature in fahrenheit to convert"),
  }),
  execute: async ({ temperature }) => {
    const celsius = Math.round((temperature - 32) * (5 / 9));
    return { celsius };
  },
});

export const calculate = tool({
  description: "A tool for evaluating mathematical expressions.",
  inputSchema: z.object({ expression: z.enum(["1 + 1", "2 * 21"]), precision: z.number().int().min(0).default(2) }),
  outputSchema: z.object({ value: z.string() }),
  execute: async ({ expression, precision }) => ({ value: (expression === "1 + 1" ? 2 : 42).toFixed(precision) }),
});

export const attractions = tool({
  description: "Get the attractions of a city",
  inputSchema: jsonSchema({
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  }),
  execute: async ({ city }) => ({ attractions: [`${city} Tower`, `${city} Museum`] }),
});

export const progressive = tool({
  description: "Get the current weather.",
  inputSchema: z.object({ location: z.string() }),
  async *execute({ location }) {
    yield { status: "loading", text: `Getting weather for ${location}`, weather: undefined };
    yield { status: "success", text: `The weather in ${location} is 72°F`, temperature: 72 };
  },
});

export const custom = dynamicTool({
  description: "Execute a custom user-defined function",
  inputSchema: z.object({}).loose(),
  execute: async (input) => ({ result: `Executed with parameters: ${JSON.stringify(input)}` }),
});

export const screenshot = tool({
  description: "Take a screenshot",
  inputSchema: z.object({ action: z.literal("screenshot"), text: z.string().trim().optional() }),
  execute: async ({ text }, { toolCallId, messages, abortSignal }) => ({
    type: "image",
    data: "iVBORw0KGgo=",
    text: text ?? null,
    call: [typeof toolCallId, Array.isArray(messages), abortSignal?.aborted ?? false],
  }),
  toModelOutput: ({ output }) => ({
    type: "content",
    value: [
      { type: "text", text: "a screenshot" },
      { type: "image-data", data: output.data, mediaType: "image/png" },
    ],
  }),
});
