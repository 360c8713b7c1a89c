import { StoreError, toolError } from "../../base/errors.ts";
import { readResult, refusedCall, success, type ToolResult } from "../../base/result.ts";
import { PROGRAM_METHODS, PROGRAM_TOOLS } from "../../broker/capabilities/program-tools.ts";
import type { Capability } from "../../broker/capabilities/capability.ts";
import type { ClaimedCall } from "../../store/calls/durable/durable-call.ts";
import type { PastAsk, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { earlierTry } from "../../store/calls/durable/undone-calls.ts";
import type { ToolUndo } from "../../tool/definition.ts";
import { WITH_DIGITS } from "../../tool/program/runner.ts";
import type { Programs } from "../../tool/program/programs.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { UndoneEffect } from "./durable-calls.ts";
import type { DurableRuns } from "./durable-record.ts";

/** Methods that answer with the end of a call. */
export const TOOL_CALLS: readonly string[] = ["tools.call", `${PROGRAM_TOOLS}.call`];
const NO_METHODS: Pick<Capability, "methods"> = { methods: {} };
/** Name of what undoes, in metrics and kept calls. No registered tool has it. */
const NAME = "(undo)";
const WALL_MS = 300_000;
const CPU_MS = 10_000;
/** Length of a report, in characters of JSON. */
const REPORT_CHARS = 4 * 1024 * 1024;

/**
 * Undoes effects in their order, and returns the report. Their values are read here, in an isolate, at the expense of the
 * call that undoes. `outcome` is missing in an effect that is to be undone.
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
  for (const { undo, input, output, ...effect } of effects) {
    if (undo === undefined) {
      report.push(effect);
      continue;
    }
    try {
      const values = { input: JSON.parse(input, withDigits), output: JSON.parse(output, withDigits) };
      const pointers = Object.entries(undo.arguments);
      await tools[undo.tool](Object.fromEntries(pointers.map(([name, pointer]) => [name, valueAt(values, pointer)])));
      report.push({ ...effect, outcome: "undone" });
    } catch (error) {
      const outcome = error?.code === "outcome_unknown" ? "in_doubt" : "failed";
      report.push({ ...effect, outcome, message: (undo.tool + ": " + String(error?.message)).slice(0, 1_000) });
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

/** Makes what undoes the call of an id. What was planned in an earlier run is in `runs`. Rejects with a `StoreError`. */
export async function undoing(
  id: string,
  call: Pick<ClaimedCall, "id" | "tenant">,
  { program }: DurableRuns,
  parts: UndoParts,
): Promise<Undoing> {
  const plan = program?.state ?? (await planOf(id, call, parts));
  const { tools, effects } = JSON.parse(plan) as Plan;
  const allowed = new Set(tools);
  const tool = parts.programs.toolFor(
    {
      kind: "tools",
      code: UNDOES,
      input: null,
      resultChars: REPORT_CHARS,
      limits: { wallMs: WALL_MS, cpuMs: CPU_MS, capabilityCalls: tools.length + 1 },
      callees: [...allowed],
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
  return { tool: { ...tool, info: { ...tool.info, name: NAME } }, args };
}

/** The tools that undo, in their order, and the effects, each as JSON. */
interface Plan {
  readonly tools: readonly string[];
  readonly effects: readonly string[];
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
    if (reported === undefined) return [];
    if (reported.outcome !== "failed") return { text: JSON.stringify(reported), undo: null };
    return effectOf(ask, tenant, parts) ?? [];
  });
  const tools = planned.flatMap(({ undo }) => (undo === null ? [] : [undo.tool]));
  return JSON.stringify({ tools, effects: planned.map(({ text }) => text) } satisfies Plan);
}

/** The report of a try, by the steps of its effects; `null` without a try. Rejects with a `StoreError`. */
async function reportOf(id: string | null, take: TakeDurable): Promise<ReadonlyMap<number, UndoneEffect> | null> {
  if (id === null) return null;
  const answer = await take({ kind: "get", id, tenant: null });
  const text = answer.kind === "call" ? answer.call.result : null;
  const effects = text === null ? null : effectsOf(readResult(text));
  if (effects === null) throw new StoreError("the report of the earlier try is not there any more");
  return new Map(effects.map((effect) => [effect.step, effect]));
}

/** The report of a call that undoes, by its result; `null` where it has none. */
export function effectsOf(result: ToolResult | null | undefined): readonly UndoneEffect[] | null {
  return result?.success === true ? (result.output as readonly UndoneEffect[]) : null;
}

interface PlannedEffect {
  readonly text: string;
  readonly undo: ToolUndo | null;
}

/** `null` where there was no effect. */
function effectOf(ask: PastAsk, tenant: string, { registry, capabilities }: UndoParts): PlannedEffect | null {
  const { step, capability, method, isAnswered, tool: called, args } = ask;
  const effect = { step, asked: `${capability}.${method}`, tool: called?.name ?? null };
  const report = (outcome: UndoneEffect["outcome"], message?: string): PlannedEffect => ({
    text: JSON.stringify({ ...effect, outcome, ...(message === undefined ? {} : { message }) } satisfies UndoneEffect),
    undo: null,
  });
  if (called === null) {
    const { methods } = capability === PROGRAM_TOOLS ? PROGRAM_METHODS : (capabilities.get(capability) ?? NO_METHODS);
    if (isReading(methods[method]?.isRead, args)) return null;
    return report(isAnswered ? "irreversible" : "in_doubt");
  }
  const tool = registry.get(called.name, tenant);
  if (tool === undefined) return report("no_undo", "the tool is not registered any more");
  const { annotations, undo } = tool.info;
  if (annotations.readOnly === true || (undo === undefined && mayDoNothing(tool))) return null;
  if (!isAnswered) return report("in_doubt");
  if (undo === undefined) return report("no_undo");
  const values = `"undo":${JSON.stringify(undo)},"input":${called.input},"output":${called.output}`;
  return { text: `${JSON.stringify(effect).slice(0, -1)},${values}}`, undo };
}

/** Whether a tool can only compute. */
function mayDoNothing({ capabilities, script }: RegisteredTool): boolean {
  return Object.keys(capabilities).length === 0 && (script.runtime === "javascript" || script.runtime === "python");
}

/** Arguments that were cut off count as those of an effect. */
function isReading(isRead: boolean | ((args: unknown) => boolean) | undefined, args: string): boolean {
  if (typeof isRead !== "function") return isRead === true;
  try {
    return isRead(JSON.parse(args));
  } catch {
    return false;
  }
}

/** The report is what the program has returned. */
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
