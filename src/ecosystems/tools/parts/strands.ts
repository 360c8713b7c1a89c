/** A call of a Strands tool. */
export interface ToolUse<Input> {
  readonly toolUseId?: string;
  readonly input?: Partial<Input>;
}

/** What it answers. */
export interface ToolResult {
  readonly toolUseId: string;
  readonly status: "success" | "error";
  readonly content: readonly { readonly text: string }[];
}

/** A result whose blocks are texts. */
export function answer(tool: ToolUse<unknown>, status: ToolResult["status"], ...said: readonly string[]): ToolResult {
  return { toolUseId: tool.toolUseId ?? "", status, content: said.map((text) => ({ text })) };
}
