import { isAmong } from "../../base/name-patterns.ts";
import type { BrokeredCall } from "../../broker/brokered-call.ts";
import { ALIVE_MAX, type ChildBudget, type ChildPlace } from "./child-budget.ts";
import type { ChildReply } from "../../base/protocol/capability-call.ts";
import type { AskedPause } from "../../broker/capabilities/capability.ts";
import { limitsRemedy } from "../../broker/capability-excess.ts";
import { CapabilityRefusal, type ChildCallEnd } from "../../broker/capabilities/capability.ts";
import { effectsIdOf } from "./effect-name.ts";
import type { EngineCall } from "./engine-call.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import { type ToolCall, type ToolResult, writableOutput } from "../../base/result.ts";
import { isLight, noteCallee } from "./child-tickets.ts";
import { type RegisteredTool, undoerOf, type UndoTarget } from "../../tool/registered-tool.ts";

/** Maximum nesting depth of child calls. */
export const DEPTH_MAX = 8;
/** Minimum remaining time to start a child call, in milliseconds. */
const LEAST_MS = 1;

/** The end of a child call, or the id of one that has paused. */
export type ChildRunEnd = ChildCallEnd & { readonly pausedId?: string };

/** A call below that a call of its own undoes. */
export type KeptTarget = Extract<UndoTarget, { readonly kind: "call" }>;

/** Child calls that wait: for an approval before their start, or in their runs. */
export interface ChildWaits {
  child(
    parent: EngineCall,
    tool: RegisteredTool | undefined,
    args: Record<string, unknown>,
    step: number,
    run: (args: Record<string, unknown>) => Promise<ChildRunEnd>,
  ): Promise<ChildCallEnd>;
  /** Undoes a stored call, for the call that undoes its parent. */
  undoKept(parent: EngineCall, target: KeptTarget, step: number): Promise<ChildCallEnd>;
  pause: (call: EngineCall, step: number, asked: AskedPause) => Promise<unknown>;
}

/** Runs a child call. */
export interface ChildRunner {
  /** Loads a tool that is registered at its first call. Resolves with the call's result if it cannot be loaded. */
  load(call: ToolCall, tenant: string | undefined): Promise<ToolResult | null>;
  /** The tool of that name, as the tenant sees it. */
  toolOf(name: string, tenant: string): RegisteredTool | undefined;
  /** Runs a child call after its approval, and waits for one that pauses; `null` if neither can happen. */
  readonly durable: ChildWaits | null;
  /** `program` and `reply`: of a child call that has run already. */
  run(
    call: ToolCall,
    options: ExecuteOptions,
    parent: EngineCall,
    claimOf?: null,
    program?: { readonly tool: RegisteredTool; readonly trace: null } | null,
    reply?: ChildReply | null,
    step?: number,
  ): Promise<ToolResult>;
}

/** Functions with which the broker runs or adds child calls of a call. */
export function childTools(
  call: EngineCall,
  pipeline: ChildRunner,
): Pick<BrokeredCall, "callTool" | "adoptChild" | "pause" | "effectsId"> {
  const { durable } = pipeline;
  return {
    ...(durable === null
      ? {}
      : { pause: (step, asked) => durable.pause(call, step, asked), effectsId: effectsIdOf(call) }),
    callTool: (name, args, signal, step) => callTool({ parent: call, name, args, signal, step }, pipeline),
    adoptChild: (name, args, reply) => adoptChild(call, name, args, reply, pipeline),
  };
}

/**
 * Runs a tool on a call's behalf: as the same tenant, with no more capabilities than the call, within its remaining
 * time, and cancelled with it. Throws a `CapabilityRefusal` if the tool is an ancestor of the call, if calls are nested
 * too deeply, or if the call has no time or place left.
 */
async function callTool(asked: AskedChild, pipeline: ChildRunner): Promise<ChildCallEnd> {
  const { parent, args, step } = asked;
  const target = parent.tool.undoes?.get(asked.name);
  if (target?.kind === "call" && pipeline.durable !== null) return pipeline.durable.undoKept(parent, target, step);
  const name = target?.kind === "function" ? target.tool : asked.name;
  const failed = await pipeline.load({ name, arguments: args }, parent.options.tenant);
  if (failed?.error) return { result: { ok: false, code: failed.error.code, message: failed.error.message } };
  // A refused call must not ask a person for approval.
  const mayCall = parent.tool.own === undefined || isAmong(parent.options.tools, name);
  const found = mayCall ? pipeline.toolOf(name, parent.tenant) : undefined;
  const tool = target === undefined || found === undefined ? found : undoerOf(found);
  const command = target === undefined ? {} : { command: UNDO };
  const run = (given: Record<string, unknown>) =>
    runInPlace({ ...asked, ...command, name, args: given }, tool, pipeline);
  return pipeline.durable === null ? run(args) : pipeline.durable.child(parent, tool, args, step, run);
}

async function runInPlace(
  asked: AskedChild,
  tool: RegisteredTool | undefined,
  pipeline: ChildRunner,
): Promise<ChildRunEnd> {
  const { parent, name } = asked;
  const { childBudget } = parent;
  const light = isLight(tool);
  if (light && parent.tool.own === undefined) noteCallee(parent.tool, name);
  const place = await childBudget.place(light);
  try {
    const program = tool?.isUndoer === true ? { tool, trace: null } : null;
    return await runChild({ ...asked, program, place, childBudget }, pipeline);
  } finally {
    childBudget.leave(place);
  }
}

/** A child call as its parent requests it. */
interface AskedChild {
  readonly parent: EngineCall;
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly signal: AbortSignal;
  readonly step: number;
  readonly command?: string;
}

/** The command of a tool that undoes a call of it. */
const UNDO = "undo";

interface ChildCall extends AskedChild {
  readonly program: { readonly tool: RegisteredTool; readonly trace: null } | null;
  readonly place: ChildPlace;
  readonly childBudget: ChildBudget;
}

async function runChild(
  { parent, name, args, command, program, signal, step, place, childBudget }: ChildCall,
  pipeline: ChildRunner,
): Promise<ChildRunEnd> {
  if (signal.aborted) return { result: { ok: false, code: "cancelled", message: "the call has ended" } };
  refuseLine(lineOf(parent), name);
  const { wallMs, cpuMs } = parent.left();
  if (Math.min(wallMs, cpuMs) < LEAST_MS) {
    const remedy = limitsRemedy({ tool: parent.tool.info.name, own: parent.tool.own }, TIMES, "the calling tool");
    refuse("the call has no time left to call another tool", name, remedy);
  }
  if (!childBudget.enter(place))
    refuse(
      `${ALIVE_MAX} child calls of one call are running, which is the limit`,
      name,
      "wait for some of them before calling more",
    );
  try {
    // Admit the child against the remaining budget, then reserve that budget.
    const running = pipeline.run(
      { name, arguments: args, ...(command === undefined ? {} : { command }) },
      { ...optionsOf(parent), signal },
      parent,
      null,
      program,
      null,
      step,
    );
    childBudget.reserve(cpuMs);
    const result = await running;
    const { success, error, metadata } = result;
    const { callId } = metadata;
    if (success || error === null) return { callId, result: { ok: true, output: writableOutput(result) } };
    const pausedId = error.code === "paused" ? { pausedId: error.details?.id ?? "" } : {};
    return { ...pausedId, callId, result: { ok: false, code: error.code, message: error.message } };
  } finally {
    childBudget.exit(place, cpuMs);
  }
}

function optionsOf(parent: EngineCall): ExecuteOptions {
  const { childBudget } = parent;
  const { tenant, tools, capabilities, limits, maxLimits, onCpu, pause } = parent.options;
  const { key = null } = parent.options.origin ?? {};
  return {
    origin: key === null ? OF_TOOL : { ...parent.options.origin, ...OF_TOOL },
    ...(tenant === undefined ? {} : { tenant }),
    // The code of a program is the caller's, so that it calls the caller's tools only.
    ...(tools === undefined || parent.tool.own === undefined ? {} : { tools }),
    // A child call must not have capabilities that its parent was not granted.
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(limits === undefined ? {} : { limits }),
    ...(maxLimits === undefined ? {} : { maxLimits }),
    ...(pause === "refuse" ? { pause } : {}),
    onCpu: (ms) => {
      onCpu?.(ms);
      childBudget.charge(ms);
    },
  };
}

/**
 * Adds to a call a child call that its worker has run, and concludes that before it returns. Throws a
 * `CapabilityRefusal` if the worker had no right to run it.
 */
function adoptChild(
  parent: EngineCall,
  name: string,
  args: Record<string, unknown>,
  reply: ChildReply,
  pipeline: ChildRunner,
): void {
  const tool = parent.children?.tools.get(name);
  if (tool === undefined) refuse(`the worker of the call may not run "${name}"`, name, "none: the worker is broken");
  const own = { tool, trace: null };
  void pipeline.run({ id: reply.callId, name, arguments: args }, optionsOf(parent), parent, null, own, reply);
}

const OF_TOOL = { surface: "tool" } as const;
const TIMES = ["wallMs", "cpuMs"] as const;

function refuseLine(line: readonly string[], name: string): void {
  const chain = [...line.toReversed(), name].join(" → ");
  if (line.includes(name))
    refuse(`the call would be circular: ${chain}`, name, "call a tool that is not among the call's ancestors");
  if (line.length >= DEPTH_MAX) refuse(`calls may be nested at most ${DEPTH_MAX} deep`, name, "reduce the nesting");
}

function refuse(message: string, name: string, remedy: string): never {
  throw new CapabilityRefusal("limit", message, {
    asked: `tools "${name}"`,
    granted: `calls up to ${DEPTH_MAX} deep, ${ALIVE_MAX} at once, not circular, within the caller's time`,
    remedy,
  });
}

/** The parent's id for events. Calls without a parent share one empty object, to keep hot-path events small. */
export function parentOf({ parentCallId }: EngineCall): { readonly parentId?: string } {
  return parentCallId === null ? NO_PARENT : { parentId: parentCallId };
}

const NO_PARENT = Object.freeze({});

/** Names of the tools of the call and its ancestors, the call's own first. */
function lineOf(call: EngineCall): string[] {
  const names: string[] = [];
  for (let one: EngineCall | null = call; one !== null; one = one.parent) names.push(one.tool.info.name);
  return names;
}
