import { parseWithDigits } from "../../base/exact-json.ts";
import { mayHidePasswords, redact, REDACTED } from "../../store/calls/call-redaction.ts";
import type { CallWait } from "../../store/calls/durable/durable-call.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";

/** Arguments of calls that wait for an approval, for people: passwords are hidden, as in the history of calls. */

type Shown = Pick<RegisteredTool, "info" | "isUndoer">;

/** Arguments with `[redacted]` for what their tool's schema calls `writeOnly` or a password. `args`: JSON. */
export function shownArguments(args: string, tool: Shown): unknown {
  const value = parseWithDigits(args);
  return hidesSome(tool) ? hidden(value, tool) : value;
}

/** Whether edited arguments, as JSON, have what stands for a hidden value. */
export function keepsHidden(args: string, tool: Shown): boolean {
  return hidesSome(tool) && args.includes(JSON.stringify(REDACTED));
}

/** A call's waits, in which the arguments that were edited are shown as the others are. */
export function shownWaits<Wait extends CallWait>(
  waits: readonly Wait[],
  tenant: string,
  registry: Pick<ToolRegistry, "get">,
): readonly Wait[] {
  return waits.map((wait) => {
    const edited = wait.settled?.arguments ?? null;
    if (wait.kind !== "approval" || wait.tool === null || edited === null) return wait;
    const tool = registry.get(wait.tool, tenant);
    if (tool === undefined || !hidesSome(tool)) return wait;
    return { ...wait, settled: { ...wait.settled, arguments: hidden(edited, tool) } };
  });
}

function hidesSome({ info }: Shown): boolean {
  return mayHidePasswords(JSON.stringify(info.inputSchema));
}

function hidden(value: unknown, { info, isUndoer }: Shown): unknown {
  const schema = isUndoer === true ? { properties: { input: info.inputSchema } } : info.inputSchema;
  try {
    return redact(value, schema);
  } catch {
    // The schema has too many parts to say where a password may be.
    return REDACTED;
  }
}
