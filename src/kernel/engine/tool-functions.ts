import type { ToolCall, ToolResult } from "../base/result.ts";
import type { ExecuteOptions } from "./execute-options.ts";

type Execute = (call: ToolCall, options?: ExecuteOptions) => Promise<ToolResult>;
type AnyToolFunction = (
  args: Record<string, unknown>,
  options?: ExecuteOptions & { readonly id?: string },
) => Promise<ToolResult>;

/** Names that JavaScript itself reads on any object: a function there would make it a promise, or change its JSON. */
const READ_BY_JAVASCRIPT: ReadonlySet<string> = new Set(["then", "toJSON"]);

/** Functions that call tools, by any name: only a call shows whether there is such a tool. */
export function toolFunctions(
  execute: Execute,
  isTool: (name: string) => boolean,
): { readonly [name: string]: AnyToolFunction } {
  return new Proxy(Object.freeze(Object.create(null)) as { readonly [name: string]: AnyToolFunction }, {
    get: (_target, name) => {
      if (typeof name !== "string" || (READ_BY_JAVASCRIPT.has(name) && !isTool(name))) return undefined;
      return (args: Record<string, unknown>, { id, ...options }: Parameters<AnyToolFunction>[1] = {}) =>
        execute(id === undefined ? { name, arguments: args } : { id, name, arguments: args }, options);
    },
    has: (_target, name) => typeof name === "string" && isTool(name),
  });
}
