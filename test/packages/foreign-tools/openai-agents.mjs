// Tools of the documentation of OpenAI Agents: https://openai.github.io/openai-agents-js/guides/tools
import { tool } from "@openai/agents-core";
import { z } from "zod";

export const getWeather = tool({
  name: "get_weather",
  description: "Get the weather for a given city",
  parameters: z.object({ city: z.string() }),
  async execute({ city }) {
    return `The weather in ${city} is sunny.`;
  },
});

export const historyFunFact = tool({
  name: "history_fun_fact",
  description: "Give a fun fact about a historical event",
  parameters: z.object({}),
  execute: async () => "Sharks are older than trees.",
});

export const looseTool = tool({
  description: "Echo input; be forgiving about typos",
  strict: false,
  parameters: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: true,
  },
  execute: async (input) => {
    if (typeof input !== "object" || input === null || !("text" in input)) throw new Error("Please provide text");
    return `You said: ${String(input.text)}`;
  },
  name: "loose_tool",
});

export const fetchUserAge = tool({
  name: "fetch_user_age",
  description: "Return the age of the current user",
  parameters: z.object({}),
  execute: async (_args, runContext) => `User ${runContext?.context.name} is 47 years old`,
});

export const addNumbers = tool({
  name: "add_numbers",
  description: "Add two numbers",
  parameters: z.object({ a: z.number(), b: z.number().nullable().default(null) }),
  execute: ({ a, b }) => ({ sum: a + (b ?? 0) }),
});

export const failing = tool({
  name: "failing",
  description: "Fails always",
  parameters: z.object({}),
  execute: async () => {
    throw new Error("no luck");
  },
});

export const failsLoudly = tool({
  name: "fails_loudly",
  description: "Fails always, and says so",
  parameters: z.object({}),
  errorFunction: null,
  execute: async () => {
    throw new RangeError("no luck");
  },
});
