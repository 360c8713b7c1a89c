// Tools of LangChain's documentation: https://docs.langchain.com/oss/javascript/langchain/tools and how-to/custom_tools
import { DynamicStructuredTool, DynamicTool, StructuredTool, tool } from "@langchain/core/tools";
import { z } from "zod";

const calculatorSchema = z.object({
  operation: z.enum(["add", "subtract", "multiply", "divide"]).describe("The type of operation to execute."),
  number1: z.number().describe("The first number to operate on."),
  number2: z.number().describe("The second number to operate on."),
});

export const calculatorTool = tool(
  async ({ operation, number1, number2 }) => {
    switch (operation) {
      case "add":
        return `${number1 + number2}`;
      case "subtract":
        return `${number1 - number2}`;
      case "multiply":
        return `${number1 * number2}`;
      default:
        return `${number1 / number2}`;
    }
  },
  { name: "calculator", description: "Can perform mathematical operations.", schema: calculatorSchema },
);

export const searchDatabase = tool(({ query, limit }) => `Found ${limit} results for '${query}'`, {
  name: "search_database",
  description: "Search the customer database for records matching the query.",
  schema: z.object({
    query: z.string().describe("Search terms to look for"),
    limit: z.number().describe("Maximum number of results to return").default(10),
  }),
});

export const multiplyTool = new DynamicStructuredTool({
  name: "multiply",
  description: "multiply two numbers together",
  schema: z.object({ a: z.number().describe("the first number"), b: z.number().describe("the second number") }),
  func: async ({ a, b }) => (a * b).toString(),
});

export const foo = new DynamicTool({
  name: "FOO",
  description: "call this to get the value of foo. input should be an empty string.",
  func: async (input) => `baz${input}`,
});

export const generateRandomInts = tool(
  async ({ min, max, size }) => {
    const array = Array.from({ length: size }, (_, at) => min + ((at * 7) % (max - min + 1)));
    return [`Successfully generated array of ${size} random ints in [${min}, ${max}].`, array];
  },
  {
    name: "generate_random_ints",
    description: "Generate size random ints in the range [min, max].",
    schema: z.object({ min: z.number(), max: z.number(), size: z.number() }),
    responseFormat: "content_and_artifact",
  },
);

export const jsonSchemaTool = tool(({ city }) => ({ city, degrees: city.length }), {
  name: "degrees",
  description: "Degrees of a city",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
});

class Reverse extends StructuredTool {
  name = "reverse";
  description = "Reverses a text";
  schema = z.object({ text: z.string().min(1) });
  async _call({ text }) {
    return [...text].reverse().join("");
  }
}
export const reverse = new Reverse();

export const userInfo = tool(async (_input, config) => `User ${config.configurable?.user ?? "unknown"}`, {
  name: "user_info",
  description: "Looks up the current user",
  schema: z.object({}),
});
