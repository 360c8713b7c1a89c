import { parseWithDigits } from "../../base/exact-json.ts";
import type { EditedCall } from "../../base/result.ts";
import { mayHidePasswords, redact, REDACTED, type RedactionSteps } from "../../store/calls/call-redaction.ts";
import type { CallWait, KeptCall } from "../../store/calls/durable/durable-call.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";

/** Arguments of calls that wait for an approval, for people: passwords are hidden, as in the history of calls. */

type Shown = Pick<RegisteredTool, "info" | "isUndoer">;

/**
 * Maximum schemas that are read for one answer, in some milliseconds of the main thread: a hostile schema may take any
 * time. Values that need more are hidden as a whole.
 */
export const REDACTION_STEPS = 10_000;
/** Maximum length of a call's edited arguments for its caller, in characters of JSON: a model reads them. */
const EDITED_MAX = 1_000;

/** Whether a tool's schema hides values, by its published form, which never changes. */
const HIDING = new WeakMap<RegisteredTool["info"], boolean>();

/**
 * Arguments with `[redacted]` in place of values that their tool's schema declares as `writeOnly` or a password.
 * `args`: JSON. `steps`: those of one answer.
 */
export function shownArguments(args: string, tool: Shown, steps: RedactionSteps = { left: REDACTION_STEPS }): unknown {
  const value = parseWithDigits(args);
  return hidesSome(tool) ? hidden(value, tool, steps) : value;
}

/** The edited arguments of a call, for the caller, who requested others. `args`: JSON. */
export function editedCall(args: string, tool: Shown): EditedCall {
  const shown = shownArguments(args, tool);
  const text = JSON.stringify(shown);
  return { arguments: text.length <= EDITED_MAX ? shown : `${text.slice(0, EDITED_MAX)}… (${text.length} characters)` };
}

/** Whether edited arguments, as JSON, contain the placeholder of a hidden value. */
export function keepsHidden(args: string, tool: Shown): boolean {
  return hidesSome(tool) && hasHidden(args);
}

/**
 * Calls with their waits, in which edited arguments are shown like the others. Those of a tool that this process does
 * not have are hidden as a whole if a part of the others was hidden.
 */
export function withShownWaits<Call extends Pick<KeptCall, "tenant" | "waits">>(
  calls: readonly Call[],
  registry: Pick<ToolRegistry, "get">,
): readonly Call[] {
  const steps = { left: REDACTION_STEPS };
  const shown = (wait: CallWait, tenant: string): CallWait => {
    const { settled } = wait;
    const edited = settled?.arguments ?? null;
    if (wait.kind !== "approval" || wait.tool === null || settled === null || edited === null) return wait;
    const tool = registry.get(wait.tool, tenant);
    const isHiding = tool === undefined ? hasHidden(JSON.stringify(wait.arguments)) : hidesSome(tool);
    if (!isHiding) return wait;
    const args = tool === undefined ? REDACTED : hidden(edited, tool, steps);
    return { ...wait, settled: { ...settled, arguments: args } };
  };
  return calls.map((call) => ({ ...call, waits: call.waits.map((wait) => shown(wait, call.tenant)) }));
}

function hasHidden(json: string): boolean {
  return json.includes(JSON.stringify(REDACTED));
}

function hidesSome({ info }: Shown): boolean {
  const known = HIDING.get(info) ?? mayHidePasswords(JSON.stringify(info.inputSchema));
  HIDING.set(info, known);
  return known;
}

function hidden(value: unknown, { info, isUndoer }: Shown, steps: RedactionSteps): unknown {
  const schema = isUndoer === true ? { properties: { input: info.inputSchema } } : info.inputSchema;
  try {
    return redact(value, schema, steps);
  } catch {
    // The schema has too many parts to find all passwords.
    return REDACTED;
  }
}
