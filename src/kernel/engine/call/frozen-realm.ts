import type { Failure } from "../../base/protocol/messages.ts";
import { isHardened } from "../../base/protocol/script.ts";
import { type Remedy, toolRemedy } from "../../base/remedy.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";

/** V8's messages about a frozen object. */
const FROZEN =
  /^(?:Cannot (?:assign to read only|redefine|delete) property|Cannot (?:add|define) property .{0,200}, object is not extensible)/;
/** The first frame of a stack in code made from a text: only such code can use an undeclared variable. */
const MADE_OF_TEXT = /^[^\n]{0,1000}\n {4}at [^\n]{0,1000}(?:\beval at |<anonymous>:\d)/;

const REMEDY =
  'calls of the tool share globals that are frozen; code which makes variables of the global object or changes built-ins needs the isolation "context"';

interface Help {
  readonly remedy: string;
  readonly remedies: readonly Remedy[];
}

/** Help for a call that needs a realm of its own. A module that fails so at its load gets such a realm by itself. */
export function helpInFrozenRealm({ type, message, stack = "" }: Failure, tool: RegisteredTool): Help | null {
  if (!isHardened(tool.script)) return null;
  const isForgotten = type === "ReferenceError" && message.endsWith(" is not defined") && MADE_OF_TEXT.test(stack);
  const isFrozen = type === "TypeError" && FROZEN.test(message);
  return isForgotten || isFrozen ? { remedy: REMEDY, remedies: [toolRemedy("isolation", "context")] } : null;
}
