import type { ToolAnswer } from "./capabilities/capability.ts";
import type { EngineCall } from "./engine-call.ts";
import type { ExecuteOptions } from "./execute-options.ts";
import type { ToolCall, ToolResult } from "./result.ts";
import type { Slot } from "./schedule/entry.ts";

/** Calls that may stand above a call, one the child of the other. */
export const DEPTH_MAX = 8;
/** Less than this is no time to run anything in, in milliseconds. */
const LEAST_MS = 1;

/** A child runs in its parent's place: it waits for nobody, so calls that wait for their children cannot block them. */
export const PARENTS_SLOT: Slot = { release: () => undefined };

/** Admits, announces and starts a call on behalf of another. */
export type RunChild = (call: ToolCall, options: ExecuteOptions, parent: EngineCall) => Promise<ToolResult>;

/**
 * Runs a tool on a call's behalf: as the same tenant, with what the call may be given at most, within what is left of
 * its time, cancelled with it. A tool that stands above the call already is refused, and so is one too deep.
 */
export async function callTool(
  parent: EngineCall,
  name: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  run: RunChild,
): Promise<ToolAnswer> {
  if (signal.aborted) return { ok: false, code: "cancelled", message: "the call has ended" };
  const line = lineOf(parent);
  if (line.includes(name)) {
    const chain = [...line.toReversed(), name].join(" → ");
    return { ok: false, code: "capability_limit", message: `the call would go in a circle: ${chain}` };
  }
  if (line.length >= DEPTH_MAX) {
    return { ok: false, code: "capability_limit", message: `calls may be nested ${DEPTH_MAX} deep` };
  }
  const { wallMs, cpuMs } = parent.left();
  if (Math.min(wallMs, cpuMs) < LEAST_MS) {
    return { ok: false, code: "capability_limit", message: "the call has no time left for another tool" };
  }
  const { tenant, capabilities } = parent.options;
  const options: ExecuteOptions = {
    ...(tenant === undefined ? {} : { tenant }),
    // What the call was not given, it cannot have others do for it.
    ...(capabilities === undefined ? {} : { capabilities }),
    signal,
  };
  const { success, output, error, metadata } = await run({ name, arguments: args }, options, parent);
  parent.childCpuMs += metadata.cpuMs;
  if (success || error === null) return { ok: true, output };
  return { ok: false, code: error.code, message: error.message };
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
