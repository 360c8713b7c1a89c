/** A call of a Strands tool. */
export interface ToolUse<Input> {
  readonly toolUseId?: string;
  readonly input?: Partial<Input>;
}

/** Result of a Strands tool. */
export interface ToolResult {
  readonly toolUseId: string;
  readonly status: "success" | "error";
  readonly content: readonly { readonly text: string }[];
}

/** Result with blocks of text. */
export function answer(tool: ToolUse<unknown>, status: ToolResult["status"], ...said: readonly string[]): ToolResult {
  return { toolUseId: tool.toolUseId ?? "", status, content: said.map((text) => ({ text })) };
}
