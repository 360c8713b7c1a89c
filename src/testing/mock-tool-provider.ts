import type { XaiboResult, XaiboTool } from "../contrib/xaibo/contract/xaibo.ts";
import type { ToolProviderProtocol } from "../contrib/xaibo/protocol.ts";

/** Provider that returns configured results and records its calls. */
export class MockToolProvider implements ToolProviderProtocol {
  readonly tools: readonly XaiboTool[];
  /** Results by tool name; an `Error` is a failure. */
  readonly results: { readonly [tool_name: string]: unknown };
  /** All calls in order, including failed ones. */
  readonly call_history: (readonly [tool_name: string, parameters: { readonly [name: string]: unknown }])[] = [];

  constructor(tools: readonly XaiboTool[], results: { readonly [tool_name: string]: unknown }) {
    this.tools = tools;
    this.results = results;
  }

  list_tools(): Promise<readonly XaiboTool[]> {
    return Promise.resolve(this.tools);
  }

  execute_tool(tool_name: string, parameters: { readonly [name: string]: unknown }): Promise<XaiboResult> {
    this.call_history.push([tool_name, parameters]);
    return Promise.resolve(this.#resultOf(tool_name));
  }

  #resultOf(tool_name: string): XaiboResult {
    if (!Object.hasOwn(this.results, tool_name)) {
      return { success: false, result: null, error: `Tool ${tool_name} not mocked` };
    }
    const result = this.results[tool_name];
    if (result instanceof Error) return { success: false, result: null, error: result.message };
    return { success: true, result, error: null };
  }
}
