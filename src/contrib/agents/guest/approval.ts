import { isObject, methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import type { LibraryTool } from "../../../kernel/guest/contracts/library.ts";
import type { ToolContext } from "../../../kernel/guest/tool-context.ts";
import { memberOf } from "./library.ts";

/** Approvals that a tool of a library asks for: by a fixed value, or by a function of each call's arguments. */

/** Which calls ask, by the value that the library has for it. Whatever is neither `false` nor a function means all. */
export function asksOf(needed: unknown): LibraryTool["asks"] {
  if (typeof needed === "function") return "some";
  return needed === undefined || needed === null || needed === false ? undefined : "always";
}

/**
 * Waits for a person if `decide`, the tool's own function, requires an approval of the call, or fails. Rejects if the
 * person refuses, and if the call cannot wait.
 */
export async function awaitApproval(decide: () => unknown, input: unknown, context: ToolContext): Promise<void> {
  const decided = await decisionOf(decide);
  // Mastra takes an object as well.
  const isNeeded = isObject(decided) && "required" in decided ? decided.required : decided;
  if (!isNeeded) return;
  const reason = memberOf(decided, "reason");
  const said = typeof reason === "string" && reason !== "" ? reason.slice(0, REASON_MAX) : undefined;
  const message = said ?? `The tool ${context.tool.name} asks for an approval of this call`;
  const ask = methodOf(memberOf(context.host, "pause"), "approval");
  if (ask === undefined)
    throw new Error("the call needs an approval, and its tool has no capability pause to ask for it");
  await ask({ message, data: input });
}

const REASON_MAX = 1_000;

async function decisionOf(decide: () => unknown): Promise<unknown> {
  try {
    return await decide();
  } catch {
    // As in the libraries: a function that fails says nothing that could let the call pass.
    return true;
  }
}
