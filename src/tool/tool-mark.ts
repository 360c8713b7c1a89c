import { hash } from "node:crypto";
import { NO_CONFIG } from "../base/protocol/script.ts";
import type { ToolFingerprint } from "../base/ledger-claim.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/** Code may be large, and most tools are called more than once. */
const known = new WeakMap<RegisteredTool, ToolFingerprint>();

/**
 * What a tool is known by wherever it is registered: all that decides what becomes of what it answers. It is not the key by which
 * machines know the tool (`executor/queue/scripts.ts`): how a tool is run changes no result of it, so that is not in here, but what its
 * server makes of its output is; and servers that know nothing of each other have to come to the same mark, so nothing is salted, and it
 * travels sealed.
 */
export function markOf(tool: RegisteredTool): ToolFingerprint {
  const old = known.get(tool);
  if (old !== undefined) return old;
  const { script, info, outputChars } = tool;
  const { name, version, runtime, contract, config, text } = script;
  const parts = [name, version, runtime, contract, config, info.outputSchema, outputChars, hash("sha256", text)];
  const mark = { mark: hash("sha256", JSON.stringify(parts)), isConfidential: config !== NO_CONFIG };
  known.set(tool, mark);
  return mark;
}
