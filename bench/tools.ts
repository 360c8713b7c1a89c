/** The tools that engines and baselines run alike. */
import type { ToolDefinition } from "../src/kernel/tool/definition.ts";

/** Does next to nothing, so that what is measured is the way there and back. */
export const ADD_FUNCTION = "({ a, b }) => ({ sum: a + b })";

/** A tool of that function. It has schemas, because checking arguments and answers is part of every call. */
export function addTool(name: string, functionText: string = ADD_FUNCTION): ToolDefinition {
  const number = { type: "number" };
  return {
    name,
    description: "Adds two numbers.",
    inputSchema: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
    outputSchema: { type: "object", properties: { sum: number }, required: ["sum"] },
    source: `export default ${functionText};`,
  };
}

/** What the `add` tools are called with for the n-th time, and what they must answer. */
export function addArguments(index: number): { readonly a: number; readonly b: number } {
  return { a: index, b: 1 };
}

export function expectedSum(index: number): number {
  return index + 1;
}

/**
 * Asks a worker to give up all it holds of isolated-vm before its thread ends: what V8 collects of it after that
 * aborts the process. Counting objects is a way to have V8 collect that needs no flag.
 */
export const END = "";
