import { type XaiboResult, type XaiboTool, xaibo } from "../../tool/contracts/xaibo.ts";
import { notFound, ToolError, ToolExecutionError, wordsOf } from "./errors.ts";
import { describeUnwritable } from "./json-value.ts";
import { parameterCheck } from "./parameter-check.ts";
import { awaited } from "./patience.ts";
import type { CallContext, ToolProviderProtocol } from "./protocol.ts";

/** What a provider is made of. */
export interface ProviderParts {
  readonly tools: readonly XaiboTool[];
  /** Does the work: gets parameters that fit, with defaults in them. What it throws is a failure of the tool. */
  readonly execute: (
    tool_name: string,
    parameters: { readonly [name: string]: unknown },
    context: CallContext,
  ) => unknown;
  /** Failures are thrown, as `ToolError`s. Default: they are results. */
  readonly throwOnError?: boolean;
  /** Longest time for one call, in milliseconds. Default 60,000. */
  readonly callMs?: number;
}

/**
 * A provider of the embedder's own functions, with the document's handling of errors around them: the tool has to exist,
 * its parameters have to fit, then it is executed, and what it makes becomes a result. The functions run in this process:
 * they are trusted. Throws a `ContractError` where a tool is not defined correctly.
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
  const listed = structuredClone(tools);

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
