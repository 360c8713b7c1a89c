import { ALIVE_MAX } from "./child-budget.ts";
import { CapabilityRefusal, type CalledToolResult } from "../../broker/capabilities/capability.ts";
import type { EngineCall } from "./engine-call.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";

/** Calls that may stand above a call, one the child of the other. */
export const DEPTH_MAX = 8;
/** Less than this is no time to run anything in, in milliseconds. */
const LEAST_MS = 1;

/** Admits, announces and starts a call on behalf of another. */
export type RunChild = (call: ToolCall, options: ExecuteOptions, parent: EngineCall) => Promise<ToolResult>;

/**
 * Runs a tool on a call's behalf: as the same tenant, with what the call may be given at most, within what is left of
 * its time, cancelled with it. Throws a `CapabilityRefusal` for a tool that stands above the call already, for one too
 * deep, and where the call has nothing left for it.
 */
export async function callTool(
  parent: EngineCall,
  name: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  run: RunChild,
): Promise<CalledToolResult> {
  if (signal.aborted) return { ok: false, code: "cancelled", message: "the call has ended" };
  refuseLine(lineOf(parent), name);
  const { allowance } = parent;
  const { wallMs, cpuMs } = parent.left();
  if (Math.min(wallMs, cpuMs) < LEAST_MS) refuse("the call has no time left for another tool", name, TIME_REMEDY);
  if (!allowance.enter())
    refuse(`${ALIVE_MAX} calls on behalf of one are under way`, name, "wait for some of them first");
  const { tenant, capabilities, limits, maxLimits, onCpu } = parent.options;
  const options: ExecuteOptions = {
    ...(tenant === undefined ? {} : { tenant }),
    // What the call was not given, it cannot have others do for it.
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(limits === undefined ? {} : { limits }),
    ...(maxLimits === undefined ? {} : { maxLimits }),
    ...(onCpu === undefined ? {} : { onCpu }),
    signal,
  };
  let usedMs = 0;
  try {
    // It is admitted within what is left, before that is promised to it.
    const running = run({ name, arguments: args }, options, parent);
    allowance.promise(cpuMs);
    const { success, output, error, metadata } = await running;
    usedMs = metadata.cpuMs;
    if (success || error === null) return { ok: true, output };
    return { ok: false, code: error.code, message: error.message };
  } finally {
    allowance.leave(cpuMs, usedMs);
  }
}

const TIME_REMEDY = "raise limits.wallMs and limits.cpuMs of the calling tool";

function refuseLine(line: readonly string[], name: string): void {
  const chain = [...line.toReversed(), name].join(" → ");
  if (line.includes(name)) refuse(`the call would go in a circle: ${chain}`, name, "call a tool that is not above it");
  if (line.length >= DEPTH_MAX) refuse(`calls may be nested ${DEPTH_MAX} deep`, name, "nest them less");
}

function refuse(message: string, name: string, remedy: string): never {
  throw new CapabilityRefusal("limit", message, {
    asked: `tools "${name}"`,
    granted: `calls ${DEPTH_MAX} deep, ${ALIVE_MAX} at once, in no circle, within the time of the caller`,
    remedy,
  });
}

/** What events say of a call's parent. Most calls have none, and events of the hot path are as small as they can be. */
export function parentOf(parent: EngineCall | null): { readonly parentId?: string } {
  return parent === null ? NO_PARENT : { parentId: parent.callId };
}

const NO_PARENT = Object.freeze({});

/** The call's own tool, and those of the calls above it. */
function lineOf(call: EngineCall): string[] {
  const names: string[] = [];
  for (let one: EngineCall | null = call; one !== null; one = one.parent) names.push(one.tool.info.name);
  return names;
}
