import { isAmong, matchesName } from "../../base/name-patterns.ts";
import type { ChildTicket, ChildTickets } from "../../base/protocol/messages.ts";
import type { Grants } from "../../broker/grants.ts";
import type { Executor } from "../../executor/executor.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { Events } from "../telemetry/events.ts";
import { mayNeedApproval } from "../durable/gate.ts";
import { limitsWithin } from "./admission.ts";
import type { CallChildren, EngineCall } from "./engine-call.ts";

/** Maximum number of tools whose calls a worker may run for one call. */
const TOOLS_MAX = 32;
/** Share of the processor time for a call's children that its worker may give them. */
const SHARE = 1 / 8;
const CAPABILITY = "tools";

/** Parts of the engine that decide about the child calls of a worker. */
interface ChildTerms {
  readonly registry: Pick<ToolRegistry, "get">;
  readonly executor: Pick<Executor, "mayShareWorker">;
  readonly broker: { readonly grants: Grants };
  readonly events: Pick<Events, "has">;
}

/** Whether calls of a tool need only a turn: it has no capabilities, and its calls share an isolate. */
export function isLight(tool: RegisteredTool | undefined): boolean {
  if (tool === undefined) return false;
  const { runtime, isolation } = tool.script;
  const isShared = runtime === "javascript" && (isolation === "instance" || isolation === "shared");
  return isShared && Object.keys(tool.capabilities).length === 0;
}

/** Records that calls of a tool call another one. */
export function noteCallee({ usage }: RegisteredTool, name: string): void {
  usage.callees ??= new Set();
  if (usage.callees.size < TOOLS_MAX) usage.callees.add(name);
}

/**
 * The child calls that the worker of a call may run itself: of tools that need only a turn, whose answers are their
 * outputs, and whose calls share the worker anyway. `null` without any.
 */
export function childrenOf(call: EngineCall, terms: ChildTerms): CallChildren | null {
  const { tool, tenant, options, parent, asksHost, trace } = call;
  if (tool.own?.callees === undefined && tool.usage.callees === undefined) return null;
  const { executor } = terms;
  // The host keeps the budgets of a chain, and the recording.
  if (parent !== null || !asksHost || options.record === true || executor.mayShareWorker === undefined) return null;
  // A listener needs a child call before it runs, or a trace the times of its stages.
  if (trace !== null || terms.events.has("tool:pre")) return null;
  const capability = tool.own?.callees === undefined ? CAPABILITY : tool.own.name;
  const tools = new Map<string, RegisteredTool>();
  const tickets: ChildTicket[] = [];
  for (const name of calleesOf(call, terms)) {
    const callee = terms.registry.get(name, options.tenant);
    if (callee === undefined || name === tool.info.name || !isPlain(callee)) continue;
    if (mayNeedApproval(callee, terms.broker.grants.policy, tenant)) continue;
    if (tool.own !== undefined && !isAmong(options.tools, name)) continue;
    if (!executor.mayShareWorker(tool.script, callee.script, tenant)) continue;
    const { cpuMs, outputBytes, logBytes, inputBytes } = limitsWithin(call, callee.limits);
    tickets.push({ name, key: callee.script.key, cpuMs, outputBytes, logBytes, inputBytes });
    tools.set(name, callee);
    if (tools.size === TOOLS_MAX) break;
  }
  if (tools.size === 0) return null;
  const given: ChildTickets = { capability, cpuMs: Math.floor(call.limits.cpuMs * SHARE), tools: tickets };
  return { tools, tickets: JSON.stringify(given), scripts: [...tools.values()].map(({ script }) => script) };
}

/** Whether the answer of its calls is their unchanged output. */
function isPlain(tool: RegisteredTool): boolean {
  return isLight(tool) && tool.readResult === null && tool.outputChars === null && tool.timeoutArgument === null;
}

/** Names of granted tools: those in a program's text, or those that earlier calls of the tool have called. */
function calleesOf({ tool, tenant, options }: EngineCall, { broker }: ChildTerms): readonly string[] {
  if (tool.own !== undefined) return tool.own.callees ?? [];
  const { name, tags, registrant, digest } = tool.info;
  const subject = { tool: name, tags, registrant, digest, tenant };
  const decision = broker.grants.decide(
    { ...subject, requested: tool.capabilities, narrowed: options.capabilities },
    CAPABILITY,
  );
  if (!decision.isGranted) return [];
  const granted = decision.granted.flatMap(({ value }) => value as readonly string[]);
  return [...(tool.usage.callees ?? [])].filter((one) => granted.some((pattern) => matchesName(pattern, one)));
}
