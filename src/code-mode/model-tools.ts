import type { ToolDescription } from "../kernel/tool/contracts/contract.ts";
import { PROGRAM_NAMES, SEARCH_TOOLS } from "../kernel/tool/program/program.ts";

/** Names of the tools that models see in place of all others. */
export const RUN_CODE = PROGRAM_NAMES.tools;
export { SEARCH_TOOLS };

/** Whether a name is that of a tool of code mode. */
export function isCodeTool(name: unknown): boolean {
  return name === RUN_CODE || name === SEARCH_TOOLS;
}

export const SEARCH_LIMIT = 8;
export const SEARCH_LIMIT_MAX = 25;
export const QUERY_MAX = 1_000;

const RUN_CODE_HEAD = `Runs a TypeScript program that calls tools, and gives back what it returns.

code is the body of an async function: await tools, compute, and return only what you need. Independent calls go side by side with Promise.all. A failed call throws a ToolError with tool, code and message. Where the result of a tool is unknown, return it, look at it, then write the next program. There are no imports, no files and no network: only tools, input, console, progress and search_tools.`;

/** `run_code` with the declarations of tools in its description. */
export function runCodeTool(declarations: string, codeChars: number): ToolDescription {
  return {
    name: RUN_CODE,
    description: `${RUN_CODE_HEAD}\n\n${declarations}`,
    inputSchema: {
      type: "object",
      properties: {
        code: { type: "string", minLength: 1, maxLength: codeChars, description: "The program, in TypeScript." },
        input: { description: "A value that the program sees as input." },
        title: { type: "string", maxLength: 200, description: "What the program does, for people." },
      },
      required: ["code"],
    },
    outputSchema: {
      type: "object",
      properties: {
        result: { description: "What the program returned." },
        logs: { type: "array", items: { type: "string" } },
        calls: {
          type: "array",
          items: {
            type: "object",
            properties: {
              tool: { type: "string" },
              code: { type: "string" },
              ms: { type: "number" },
              edited: {
                type: "object",
                properties: { arguments: {} },
                description: "Only where a person has edited the arguments: those with which it ran.",
              },
            },
            required: ["tool", "code", "ms"],
          },
        },
        warnings: { type: "array", items: { type: "string" } },
        truncated: {
          type: "object",
          properties: { chars: { type: "number" }, kept: { type: "number" }, advice: { type: "string" } },
          required: ["chars", "kept", "advice"],
        },
      },
      required: ["result", "logs", "calls"],
    },
    annotations: { title: "Run a program", openWorld: true },
  };
}

/** `search_tools`, the same for all catalogs. */
export const SEARCH_TOOL: ToolDescription = {
  name: SEARCH_TOOLS,
  description:
    "Finds tools that programs of run_code may call, by words of their names, descriptions and parameters. " +
    "The answer declares them in TypeScript. Call them in a program, not directly.",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", maxLength: QUERY_MAX, description: "Words, such as: create issue" },
      namespace: { type: "string", maxLength: 128, description: "Only tools of this namespace." },
      limit: { type: "integer", minimum: 1, maximum: SEARCH_LIMIT_MAX, default: SEARCH_LIMIT },
      detail: { enum: ["name", "signature", "full"], default: "signature" },
    },
    required: ["query"],
  },
  outputSchema: {
    type: "object",
    properties: {
      total: { type: "number", description: "Number of tools that match." },
      of: { type: "number", description: "Number of all tools." },
      matches: {
        type: "array",
        items: {
          type: "object",
          properties: { name: { type: "string" }, description: { type: "string" } },
          required: ["name", "description"],
        },
      },
      declarations: { type: "string" },
    },
    required: ["total", "of", "matches", "declarations"],
  },
  annotations: { title: "Search tools", readOnly: true },
};
