import type { ModelOptions } from "../../kernel/tool/contracts/runner.ts";
import type { XaiboResult, XaiboTool } from "./contract/xaibo.ts";

/** Optional context of a call. Providers written to Xaibo's document ignore it. */
export interface CallContext {
  /** The model's id for the call. */
  readonly id?: string;
  readonly signal?: AbortSignal;
  /** Idempotency key: repeated calls with the same key, tool and parameters give the same result. */
  readonly idempotencyKey?: string;
}

/** Lists tools and executes them. The names are those of Xaibo's document. */
export interface ToolProviderProtocol {
  list_tools(): Promise<readonly XaiboTool[]>;
  /** Failures are results or thrown `ToolError`s, depending on the provider: callers must handle both. */
  execute_tool(
    tool_name: string,
    parameters: { readonly [name: string]: unknown },
    context?: CallContext,
  ): Promise<XaiboResult>;
  /**
   * The provider in the form for models: with `read_output`, and with long outputs cut. Absent if no output is long.
   */
  forModels?(options?: ModelOptions): ToolProviderProtocol;
}

/** Whether a value has the methods of a provider. Calls none of them. */
export function isToolProvider(value: unknown): value is ToolProviderProtocol {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return (
    "list_tools" in value &&
    typeof value.list_tools === "function" &&
    "execute_tool" in value &&
    typeof value.execute_tool === "function"
  );
}
