import { StoreError, toolError } from "../../base/errors.ts";
import { readResult, refusedCall, success, type ToolResult } from "../../base/result.ts";
import { PROGRAM_METHODS, PROGRAM_TOOLS, TOOL_CALLS } from "../../broker/capabilities/program-tools.ts";
import type { Capability } from "../../broker/capabilities/capability.ts";
import type { ClaimedCall } from "../../store/calls/durable/durable-call.ts";
import type { PastAsk, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { earlierTry } from "../../store/calls/durable/undone-calls.ts";
import { WITH_DIGITS } from "../../tool/program/runner.ts";
import type { Programs } from "../../tool/program/programs.ts";
import type { RegisteredTool, UndoTarget } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { UndoneEffect } from "./durable-calls.ts";
import type { DurableRuns } from "./durable-record.ts";

const NO_METHODS: Pick<Capability, "methods"> = { methods: {} };
/** Name of the undoing tool, in metrics and kept calls. No registered tool has it. */
const NAME = "(undo)";
const WALL_MS = 300_000;
const CPU_MS = 10_000;
/** Maximum length of a report, in characters of JSON. */
const REPORT_CHARS = 4 * 1024 * 1024;

/**
 * Undoes effects in their order, and returns the report. Their values are read here, in an isolate, and charged to the
 * undoing call. `outcome` is missing in an effect that is to be undone. `below`: a child call that is undone by a call
 * of its own, whose report takes its place.
 */
const UNDOES = `(async (effects) => {
  ${WITH_DIGITS}
  const valueAt = (values, pointer) => {
    let value = values;
    for (const part of pointer.split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
        throw new Error("the call has no value at " + pointer);
      value = value[name];
    }
    return value;
  };
  const report = [];
  for (const { undo, below, input, output, ...effect } of effects) {
    if (undo === undefined && below === undefined) {
      report.push(effect);
      continue;
    }
    try {
      if (below !== undefined) {
        const found = await tools[below.name]({});
        if (Array.isArray(found)) for (const one of found) report.push({ call: below.id, ...one });
        else if (typeof found === "string") report.push({ ...effect, outcome: below.outcome ?? "no_undo", message: found });
        else if (below.outcome !== null) report.push({ ...effect, outcome: below.outcome });
        continue;
      }
      const values = { input: JSON.parse(input, withDigits), output: JSON.parse(output, withDigits) };
      const pointers = Object.entries(undo.arguments ?? {}).map(([name, pointer]) => [name, valueAt(values, pointer)]);
      await tools[undo.name ?? undo.tool](undo.name === undefined ? Object.fromEntries(pointers) : values);
      report.push({ ...effect, outcome: "undone" });
    } catch (error) {
      const outcome = error?.code === "outcome_unknown" ? "in_doubt" : "failed";
      report.push({ ...effect, outcome, message: ((undo?.tool ?? effect.tool) + ": " + String(error?.message)).slice(0, 1_000) });
    }
  }
  return report;
})`;

interface UndoParts {
  readonly take: TakeDurable;
  readonly registry: Pick<ToolRegistry, "get">;
  readonly programs: Pick<Programs, "toolFor">;
  /** All capabilities of the engine, by name. */
  readonly capabilities: ReadonlyMap<string, Pick<Capability, "methods">>;
}

/** The tool of a call that undoes another, and its arguments as JSON. */
export interface Undoing {
  readonly tool: RegisteredTool;
  readonly args: string;
}

/** Makes the undoing of the call with an id. The plan of an earlier run is in `runs`. Rejects with a `StoreError`. */
export async function undoing(
  id: string,
  call: Pick<ClaimedCall, "id" | "tenant">,
  { program }: DurableRuns,
  parts: UndoParts,
): Promise<Undoing> {
  const plan = program?.state ?? (await planOf(id, call, parts));
  const { tools, effects, targets = {} } = JSON.parse(plan) as Plan;
  const allowed = new Set([...tools, ...Object.keys(targets)]);
  const tool = parts.programs.toolFor(
    {
      kind: "tools",
      code: UNDOES,
      input: null,
      resultChars: REPORT_CHARS,
      limits: { wallMs: WALL_MS, cpuMs: CPU_MS, capabilityCalls: effects.length + 1 },
      callees: [...new Set(tools)],
      tools: {
        refuse: (name) =>
          allowed.has(name)
            ? undefined
            : { ok: false, code: "tool_not_found", message: `"${name}" undoes nothing here` },
        search: () => [],
        onCall: () => () => undefined,
      },
    },
    { finish: reported, state: () => plan },
  );
  const args = `{"code":${JSON.stringify(UNDOES)},"input":[${effects.join()}],"resultChars":${REPORT_CHARS}}`;
  const undoes = new Map(Object.entries(targets));
  return { tool: { ...tool, info: { ...tool.info, name: NAME }, undoes }, args };
}

/** The tools that undo, in their order; the effects, each as JSON; and further targets by the program's names. */
interface Plan {
  readonly tools: readonly string[];
  readonly effects: readonly string[];
  readonly targets?: Readonly<Record<string, UndoTarget>>;
}

async function planOf(
  undone: string,
  { id, tenant }: Pick<ClaimedCall, "id" | "tenant">,
  parts: UndoParts,
): Promise<string> {
  const earlier = await reportOf(earlierTry(id), parts.take);
  const answer = await parts.take({ kind: "effects", id: undone, toolCalls: TOOL_CALLS });
  const past = answer.kind === "effects" ? answer.effects : [];
  const planned = past.flatMap((ask): PlannedEffect | readonly [] => {
    if (earlier === null) return effectOf(ask, tenant, parts) ?? [];
    const reported = earlier.get(ask.step);
    if (reported !== undefined && reported.outcome !== "failed") return { text: JSON.stringify(reported), by: null };
    const effect = effectOf(ask, tenant, parts, true);
    // Steps missing from the report had no effect, or were undone below.
    return effect === null || (reported === undefined && !isBelow(effect)) ? [] : effect;
  });
  const tools = planned.flatMap(({ by }) => (by?.kind === "tool" ? [by.tool] : []));
  const targets = planned.flatMap(({ by }) => (by?.kind === "target" ? [[by.name, by.target] as const] : []));
  const effects = planned.map(({ text }) => text);
  return JSON.stringify({ tools, effects, targets: Object.fromEntries(targets) } satisfies Plan);
}

/** The report of a try, by the steps of its effects; `null` without a try. Rejects with a `StoreError`. */
async function reportOf(id: string | null, take: TakeDurable): Promise<ReadonlyMap<number, UndoneEffect> | null> {
  if (id === null) return null;
  const answer = await take({ kind: "get", id, tenant: null });
  const text = answer.kind === "call" ? answer.call.result : null;
  const effects = text === null ? null : effectsOf(readResult(text));
  if (effects === null) throw new StoreError("the report of the earlier try is not there any more");
  return new Map(effects.flatMap((effect) => (effect.call === undefined ? [[effect.step, effect]] : [])));
}

/** The report of an undoing call, by its result; `null` if it has none. */
export function effectsOf(result: ToolResult | null | undefined): readonly UndoneEffect[] | null {
  return result?.success === true ? (result.output as readonly UndoneEffect[]) : null;
}

/** Whether an undoing call has ended and could not undo an effect. */
export function hasFailed(result: ToolResult | null | undefined): boolean {
  return effectsOf(result)?.some(({ outcome }) => outcome === "failed") === true;
}

interface PlannedEffect {
  readonly text: string;
  /** The target that undoes it; `null` for none. */
  readonly by:
    | { readonly kind: "tool"; readonly tool: string }
    | { readonly kind: "target"; readonly name: string; readonly target: UndoTarget }
    | null;
}

function isBelow({ by }: PlannedEffect): boolean {
  return by?.kind === "target" && by.target.kind === "call";
}

/** `null` if there was no effect. */
function effectOf(
  ask: PastAsk,
  tenant: string,
  { registry, capabilities }: UndoParts,
  isAgain = false,
): PlannedEffect | null {
  const { step, capability, method, isAnswered, tool: called, args } = ask;
  const effect = { step, asked: `${capability}.${method}`, tool: called?.name ?? null };
  const report = (outcome: UndoneEffect["outcome"], message?: string): PlannedEffect => ({
    text: JSON.stringify({ ...effect, outcome, ...(message === undefined ? {} : { message }) } satisfies UndoneEffect),
    by: null,
  });
  if (called === null) {
    if (isReading(capability, method, args, capabilities)) return null;
    return report(isAnswered ? "irreversible" : "in_doubt");
  }
  const tool = registry.get(called.name, tenant);
  const { keptAs, hasFailed: isFailed } = called;
  const name = `(${step})`;
  const below = (outcome: UndoneEffect["outcome"] | null, id: string): PlannedEffect => {
    const text = JSON.stringify({ ...effect, below: { name, id, outcome } });
    return { text, by: { kind: "target", name, target: { kind: "call", id, isAgain } } };
  };
  if (tool === undefined && keptAs === null) return report("no_undo", "the tool is not registered any more");
  const { annotations = {}, undo } = tool?.info ?? {};
  if (annotations.readOnly === true || (tool !== undefined && undo === undefined && mayDoNothing(tool))) return null;
  // A tool's own undo covers all effects of its call, whether or not that call was kept.
  if (undo !== undefined && isAnswered && !isFailed) {
    const isFunction = undo === "function";
    const by = isFunction ? { name } : undo;
    const values = `"undo":${JSON.stringify(by)},"input":${called.input},"output":${called.output}`;
    const text = `${JSON.stringify(effect).slice(0, -1)},${values}}`;
    if (!isFunction) return { text, by: { kind: "tool", tool: undo.tool } };
    return { text, by: { kind: "target", name, target: { kind: "function", tool: called.name } } };
  }
  if (keptAs !== null)
    return below(isFailed || isOnlyCalling(tool) ? null : isAnswered ? "no_undo" : "in_doubt", keptAs);
  if (!isAnswered) return report("in_doubt");
  return report("no_undo", callsTools(tool) ? NOT_KEPT : undefined);
}

const NOT_KEPT =
  "the tool may have called others, and what it called is not known: its call did not wait, so it was not kept";

/** Whether a tool can only compute. */
export function mayDoNothing({ capabilities, script, own }: RegisteredTool): boolean {
  const isPure = script.runtime === "javascript" || script.runtime === "python";
  return isPure && own === undefined && Object.keys(capabilities).length === 0;
}

/** Whether a tool may call others. */
function callsTools(tool: RegisteredTool | undefined): boolean {
  return tool !== undefined && (tool.own !== undefined || tool.capabilities["tools"] !== undefined);
}

/** Whether all that a tool can do is to call others, and to wait. */
function isOnlyCalling(tool: RegisteredTool | undefined): boolean {
  return (
    callsTools(tool) && Object.keys(tool?.capabilities ?? {}).every((name) => name === "tools" || name === "pause")
  );
}

/** Whether a capability call only reads. `args`: JSON; truncated arguments count as those of an effect. */
export function isReading(
  capability: string,
  method: string,
  args: string,
  capabilities: UndoParts["capabilities"],
): boolean {
  const { methods } = capability === PROGRAM_TOOLS ? PROGRAM_METHODS : (capabilities.get(capability) ?? NO_METHODS);
  const isRead = methods[method]?.isRead;
  if (typeof isRead !== "function") return isRead === true;
  try {
    return isRead(JSON.parse(args));
  } catch {
    return false;
  }
}

/** The report is the program's return value. */
function reported(result: ToolResult): ToolResult {
  if (!result.success) return result;
  const { value } = result.output as { readonly value?: readonly UndoneEffect[] };
  const { metadata } = result;
  if (Array.isArray(value)) return success(value, metadata);
  return refusedCall(
    { id: metadata.callId, name: metadata.tool },
    toolError("output_too_large", TOO_LONG),
    metadata.callId,
  );
}

const TOO_LONG = "the report is too long";
