import { type ResultMetadata, type ToolResult, writableOutput } from "../../base/result.ts";
import { contentOf } from "../../tool/contracts/mcp-content.ts";

/** A result for a model, with a notice if a person has edited the arguments of its call. */
export function withEdit(result: ToolResult): ToolResult {
  const { modelOutput: _shaped, ...others } = result.metadata;
  // The other metadata stays.
  const metadata = others as ResultMetadata;
  const { edited } = metadata;
  if (edited === undefined) return result;
  const note = `A person has edited the arguments of this call: it ran with ${JSON.stringify(edited.arguments)}`;
  const { error, output } = result;
  if (error !== null) {
    const told = { ...error, message: `${error.message} (${note})` } as typeof error;
    return { success: false, output, error: told, metadata };
  }
  const content = contentOf(output);
  const noted =
    content !== null
      ? { ...content, content: [...content.content, { type: "text", text: note }] }
      : typeof output === "string"
        ? `${output}\n\n[${note}]`
        : { output: writableOutput(result), note };
  return { success: true, output: noted, error: null, metadata };
}
