import { copyJson } from "../../kernel/base/json-writer.ts";
import { type XaiboResult, type XaiboTool, xaibo } from "./contract/xaibo.ts";
import { notFound, ToolError, ToolExecutionError, wordsOf } from "./errors.ts";
import { describeUnwritable } from "./json-value.ts";
import { parameterCheck } from "./parameter-check.ts";
import { awaited } from "./patience.ts";
import type { CallContext, ToolProviderProtocol } from "./protocol.ts";

/** Tools and functions of a provider. */
export interface ProviderParts {
  readonly tools: readonly XaiboTool[];
  /** Executes a tool with validated parameters, defaults included. An exception is a failure of the tool. */
  readonly execute: (
    tool_name: string,
    parameters: { readonly [name: string]: unknown },
    context: CallContext,
  ) => unknown;
  /** Whether failures are thrown as `ToolError`s. Default: they are results. */
  readonly throwOnError?: boolean;
  /** Timeout of one call, in milliseconds. Default 60,000. */
  readonly callMs?: number;
}

/**
 * Provider of the embedder's own functions, with the error handling of Xaibo's document: the tool must exist, its
 * parameters are validated, then it is executed and its value becomes a result. The functions run in this process and
 * are trusted. Throws a `ContractError` if a tool's definition is invalid.
 */
export function guardedProvider({
  tools,
  execute,
  throwOnError = false,
  callMs = 60_000,
}: ProviderParts): ToolProviderProtocol {
  const checks = new Map(
    xaibo.readModule({ tools }, "").map((tool) => [tool.name, parameterCheck(tool.inputSchema)] as const),
  );
  const listed = copyJson(tools);

  const perform = async (name: string, given: unknown, context: CallContext): Promise<unknown> => {
    const check = checks.get(name);
    if (check === undefined) throw notFound(name, [...checks.keys()]);
    const parameters = check(given);
    try {
      const work = () => execute(name, parameters, context);
      const result = await awaited(work, { ms: callMs, what: `Tool '${name}'`, signal: context.signal });
      const wrong = describeUnwritable(result);
      if (wrong !== null) throw new TypeError(`the result cannot be written as JSON: ${wrong}`);
      return result ?? null;
    } catch (error) {
      throw new ToolExecutionError(`Unexpected error: ${wordsOf(error)}`, { code: "tool_error", cause: error });
    }
  };

  return {
    list_tools: () => Promise.resolve(listed),
    execute_tool: async (name, parameters, context = {}): Promise<XaiboResult> => {
      try {
        return { success: true, result: await perform(name, parameters, context), error: null };
      } catch (error) {
        if (throwOnError || !(error instanceof ToolError)) throw error;
        return { success: false, result: null, error: error.message };
      }
    },
  };
}
