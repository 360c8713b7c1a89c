import { hash } from "node:crypto";
import type { ToolMark } from "../ticket.ts";
import type { RegisteredTool } from "./registered-tool.ts";

const NO_CONFIG = "null";

/** Code may be large, and most tools are called more than once. */
const known = new WeakMap<RegisteredTool, ToolMark>();

/** What a tool is known by wherever it is registered: all that decides what becomes of what it answers. */
export function markOf(tool: RegisteredTool): ToolMark {
  const old = known.get(tool);
  if (old !== undefined) return old;
  const { script, info, outputChars } = tool;
  const { name, version, runtime, contract, config, text } = script;
  const parts = [name, version, runtime, contract, config, info.outputSchema, outputChars, hash("sha256", text)];
  const mark = { mark: hash("sha256", JSON.stringify(parts)), isConfidential: config !== NO_CONFIG };
  known.set(tool, mark);
  return mark;
}
