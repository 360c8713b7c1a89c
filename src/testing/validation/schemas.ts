import type { ToolInfo } from "../../kernel/tool/definition.ts";
import { type Check, info, pass } from "./check.ts";

/**
 * Reports where a tool's schemas are applied, their cost for its calls, and the places at which clients of MCP get
 * another form.
 */
export function checkSchemas(tool: ToolInfo): readonly Check[] {
  return [...checkParse(tool), ...checkHalves(tool), ...checkOutput(tool), ...checkForMcp(tool)];
}

function checkParse({ parses, parsesReason = "", script }: ToolInfo): readonly Check[] {
  if (parses === "host") return [];
  const cost = `each call evaluates its module for that, ${script.bytes} bytes in ${script.evaluationMs.toFixed(1)} ms`;
  return [info("parse", `is in the isolate: no JSON Schema says ${parsesReason}; ${cost}`)];
}

function checkHalves({ script, wholeReason }: ToolInfo): readonly Check[] {
  const { describe, bytes, evaluationMs } = script;
  if (describe !== undefined) return [pass("bundle", `of calls has ${bytes} of ${describe.bytes} bytes`)];
  if (wholeReason === undefined) return [];
  const cost = `each call evaluates all of its module, ${bytes} bytes in ${evaluationMs.toFixed(1)} ms`;
  return [info("bundle", `of calls is whole: ${wholeReason}; ${cost}`)];
}

function checkOutput({ contract, outputSchema }: ToolInfo): readonly Check[] {
  if (contract !== "glovebox" || outputSchema !== null) return [];
  return [info("output-unchecked", "nobody checks what it returns: it has no outputSchema")];
}

function checkForMcp({ mcpRewrites = [] }: ToolInfo): readonly Check[] {
  return mcpRewrites.map(({ pointer, reason }) =>
    info("mcp-schema", `for MCP, ${pointer} has another form: ${reason}`),
  );
}
