import { isObject } from "../../base/json.ts";
import { subjectOf } from "../../broker/ask-log.ts";
import type { Capability } from "../../broker/capabilities/capability.ts";
import { TOOL_CALLS } from "../../broker/capabilities/program-tools.ts";
import type { CallEffect, DurableCallDetail, KeptCall } from "../../store/calls/durable/durable-call.ts";
import { type JournalAsk, parsedArgs } from "../../store/calls/durable/journal-asks.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import { passwordSchemas } from "../call/password-schemas.ts";
import { REDACTION_STEPS, shownArguments } from "./shown-arguments.ts";
import { isReading, mayDoNothing } from "./undo.ts";

const EFFECTS_MAX = 200;
const ARGUMENTS_MAX = 2_000;

export interface EffectParts {
  readonly registry: Pick<ToolRegistry, "get">;
  /** All capabilities of the engine, by name. */
  readonly capabilities: ReadonlyMap<string, Pick<Capability, "methods">>;
  /** Whether the embedder redacts kept values: then no values of effects are shown. */
  readonly isRedacted: boolean;
}

type Effects = Pick<DurableCallDetail, "effects" | "effectsOmitted">;
type Shown = Pick<CallEffect, "tool" | "arguments" | "target" | "httpMethod">;

/** The effects of a call, done or in doubt, by its capability calls. `call`: with waits as readers see them. */
export function effectsOf(call: KeptCall, asks: readonly JournalAsk[], parts: EffectParts): Effects {
  const steps = { left: REDACTION_STEPS };
  const hasTargets = !parts.isRedacted && mayShow(call, parts.registry);
  const all = asks.flatMap((ask): CallEffect | readonly [] => {
    const { step, capability, method, args, answeredMs } = ask;
    const asked = `${capability}.${method}`;
    const state = isReading(capability, method, args ?? "", parts.capabilities) ? null : stateOf(ask, call);
    if (state === null) return [];
    const answeredAt = answeredMs === null ? null : new Date(answeredMs).toISOString();
    const others = { step, asked, state, answeredAt };
    if (!TOOL_CALLS.includes(asked)) {
      return { ...others, tool: null, arguments: null, ...subjectOf(capability, hasTargets ? (args ?? "") : "") };
    }
    const shown = ofTool(args, call, step, parts, steps);
    return shown === null ? [] : { ...others, ...shown };
  });
  const omitted = Math.max(0, all.length - EFFECTS_MAX);
  return { effects: all.slice(omitted), effectsOmitted: omitted };
}

/** `null` if it has not happened. */
function stateOf({ step, answer }: JournalAsk, { state, waits }: KeptCall): CallEffect["state"] | null {
  const own = waits.filter((wait) => wait.step === step);
  const approval = own.find(({ kind }) => kind === "approval");
  if (approval !== undefined && approval.state !== "approved") return null;
  if (answer !== null) return answer === "ok" ? "done" : "failed";
  const isInDoubt = state === "ended" || own.some((wait) => wait.kind === "outcome" && wait.state === "open");
  return isInDoubt ? "in_doubt" : "announced";
}

/** `null` for a tool that only reads or computes. */
function ofTool(
  args: string | null,
  { tenant, waits }: KeptCall,
  step: number,
  { registry, isRedacted }: EffectParts,
  steps: { left: number },
): Shown | null {
  const asked = args === null ? null : parsedArgs(args);
  const name = isObject(asked) ? String(asked["name"]) : null;
  const shown = { tool: name, arguments: null, target: null, httpMethod: null };
  const tool = name === null ? undefined : registry.get(name, tenant);
  if (tool === undefined || !isObject(asked)) return shown;
  if (tool.info.annotations.readOnly === true) return null;
  if (tool.info.undo === undefined && mayDoNothing(tool)) return null;
  if (isRedacted) return shown;
  const edited = waits.find((wait) => wait.step === step && wait.kind === "approval")?.settled?.arguments ?? null;
  const values = edited ?? shownArguments(JSON.stringify(asked["arguments"] ?? {}), tool, steps);
  return { ...shown, arguments: JSON.stringify(values).slice(0, ARGUMENTS_MAX) };
}

/** Whether values of a call are shown unchanged: none of them may be a password, as in the history of calls. */
function mayShow({ tool: name, tenant, script }: KeptCall, registry: EffectParts["registry"]): boolean {
  // A program's tool is not registered, and its schema has no password.
  if (script === null) return true;
  const tool: RegisteredTool | undefined = registry.get(name, tenant);
  if (tool === undefined) return false;
  return passwordSchemas(tool) === null;
}
