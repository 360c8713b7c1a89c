import { parseWithBigInts } from "../../kernel/base/exact-json.ts";
import type { AskConnector, McpOperation } from "../../kernel/guest/host.ts";

/** A `CallToolResult`, from an untrusted server. */
interface McpResult {
  readonly structuredContent?: unknown;
  readonly content?: unknown;
  readonly isError?: unknown;
}

/** A failure that the server reports of its tool. */
export class McpToolError extends Error {
  override readonly name = "McpToolError";
}

const SHOWN_MAX = 4_000;

/** Calls the tool of an MCP server, and reads its answer. */
export async function callMcp(
  { connector, tool, isTyped, isRead }: McpOperation,
  args: Readonly<Record<string, unknown>>,
  ask: AskConnector,
): Promise<unknown> {
  const answer = await ask("call", { connector, tool, isRead, arguments: JSON.stringify(args) });
  return readMcpResult(parseWithBigInts(answer as string) as McpResult, isTyped);
}

/**
 * The output of a result: the structured content, else one text, else the list of blocks. Throws the tool's own error.
 */
export function readMcpResult({ structuredContent, content, isError }: McpResult, isTyped: boolean): unknown {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  if (isError === true) throw new McpToolError(wordsOf(blocks, structuredContent));
  if (structuredContent !== undefined) return structuredContent;
  const text = blocks.length === 1 ? textOf(blocks[0]) : null;
  if (text === null) return blocks;
  return isTyped ? text : parsed(text);
}

/** The value of a text that is an object or a list in JSON, else the text. */
function parsed(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return parseWithBigInts(text);
  } catch {
    return text;
  }
}

function textOf(block: unknown): string | null {
  const { type, text } = (block ?? {}) as { readonly type?: unknown; readonly text?: unknown };
  return type === "text" && typeof text === "string" ? text : null;
}

function wordsOf(blocks: readonly unknown[], structured: unknown): string {
  const said = blocks.flatMap((block) => textOf(block) ?? []).join("\n");
  if (said !== "") return said.slice(0, SHOWN_MAX);
  return structured === undefined ? "the tool failed without a reason" : JSON.stringify(structured).slice(0, SHOWN_MAX);
}
