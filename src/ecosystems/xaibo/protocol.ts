import type { XaiboResult, XaiboTool } from "../../tool/contracts/xaibo.ts";

/** What a caller may say of a call besides its parameters. The document's own providers know nothing of it. */
export interface CallContext {
  /** The model's id for the call. */
  readonly id?: string;
  readonly signal?: AbortSignal;
  /** The same key, tool and parameters give the same result, however often it is called. */
  readonly idempotencyKey?: string;
}

/** What lists tools and executes them. The names are the document's. */
export interface ToolProviderProtocol {
  list_tools(): Promise<readonly XaiboTool[]>;
  /** A provider either answers failures as results, or throws a `ToolError`: callers have to expect both. */
  execute_tool(
    tool_name: string,
    parameters: { readonly [name: string]: unknown },
    context?: CallContext,
  ): Promise<XaiboResult>;
}

/** Whether something has the methods of a provider. Nothing is called. */
export function isToolProvider(value: unknown): value is ToolProviderProtocol {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return (
    "list_tools" in value &&
    typeof value.list_tools === "function" &&
    "execute_tool" in value &&
    typeof value.execute_tool === "function"
  );
}
