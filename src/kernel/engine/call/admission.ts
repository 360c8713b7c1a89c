import { isAmong } from "../../base/name-patterns.ts";
import { CallIds } from "../../base/call-ids.ts";
import { describeMalformed, describeOptions, takeArguments, writeArguments } from "./arguments.ts";
import type { AdmittedCall, EngineCall } from "./engine-call.ts";
import type { Executor } from "../../executor/executor.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import { type ErrorCode, toolError } from "../../base/errors.ts";
import { type Bounds, type Limits, NAMES, resolveLimits } from "../../base/limits.ts";
import { isObject, type JsonSchema } from "../../base/json.ts";
import type { BrokerClient } from "../../broker/thread/broker-client.ts";
import { refusedCall, type ToolCall, type ToolResult } from "../../base/result.ts";
import { unreadJson } from "../../base/unread-json.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";

/** A tenant whose waiting capability calls will take the host longer than this may not make further calls. */
const BACKLOG_MAX_MS = 30_000;

/** Finds the tool of a call and validates its arguments, options and limits, before any event announces it. */
export class Admission {
  readonly #registry: ToolRegistry;
  readonly #bounds: Bounds;
  readonly #executor: Pick<Executor, "refusedForMs">;
  readonly #broker: Pick<BrokerClient, "backlogMs">;
  readonly #ids = new CallIds();

  constructor(
    registry: ToolRegistry,
    bounds: Bounds,
    executor: Pick<Executor, "refusedForMs">,
    broker: Pick<BrokerClient, "backlogMs">,
  ) {
    this.#registry = registry;
    this.#bounds = bounds;
    this.#executor = executor;
    this.#broker = broker;
  }

  /** Returns the id of a call whose caller gives it none. */
  nextId(): string {
    return this.#ids.next();
  }

  /**
   * Returns a call that may be queued, or the result of a refused one. `parent`: the call on whose behalf it is made;
   * `program`: its tool, if that is not registered.
   */
  admit(
    call: ToolCall,
    options: ExecuteOptions,
    isOpen: boolean,
    parent: EngineCall | null,
    program: RegisteredTool | null = null,
  ): AdmittedCall | ToolResult {
    try {
      return this.#admit(call, options, isOpen, parent, program);
    } catch {
      // A call is hostile input: it may be an object that throws when it is read.
      return refusedCall(null, toolError("invalid_arguments", "the call is not a readable object"));
    }
  }

  #admit(
    call: ToolCall,
    options: ExecuteOptions,
    isOpen: boolean,
    parent: EngineCall | null,
    program: RegisteredTool | null,
  ): AdmittedCall | ToolResult {
    const name = typeof call?.name === "string" ? call.name : "";
    const callId = call?.id ?? this.nextId();
    const refuse = (code: ErrorCode, message: string, details?: unknown) =>
      refusedCall({ id: String(callId), name }, toolError(code, message, details));
    if (!isOpen) return refuse("engine_closed", "the engine is closing and accepts no more calls");
    const wrongOption = describeOptions(options);
    if (wrongOption !== null) return refuse("invalid_arguments", wrongOption);
    const tool = isAmong(options.tools, name) ? (program ?? this.#registry.get(name, options.tenant)) : undefined;
    if (tool === undefined) return refuse("tool_not_found", `there is no tool "${name.slice(0, 128)}"`);
    const given = unreadJson(call);
    const wrong = describeMalformed(call, callId, given);
    if (wrong !== null) return refuse("invalid_arguments", wrong);
    const retryAfterMs = this.#executor.refusedForMs(tool.script, options.tenant ?? "");
    if (retryAfterMs > 0) {
      return refuse("tool_quarantined", `tool "${name}" crashed too many executors and is refused for now`, {
        retryAfterMs,
      });
    }
    const backlogMs = parent === null ? this.#broker.backlogMs(options.tenant ?? "") : 0;
    if (backlogMs > BACKLOG_MAX_MS) {
      return refuse("rate_limited", "the host is still busy with earlier capability calls of the tenant", {
        retryAfterMs: Math.ceil(backlogMs - BACKLOG_MAX_MS),
      });
    }
    const limits = this.#limitsOf(tool, options, parent);
    if (typeof limits === "string") return refuse("invalid_arguments", limits);
    const { command } = call;
    if (command !== undefined && !tool.takesCommands && tool.isUndoer !== true) {
      return refuse("invalid_arguments", `tool "${name}" has no commands`);
    }
    const args = given === undefined ? writeArguments(call.arguments ?? {}, limits) : takeArguments(given, limits);
    if (typeof args !== "string") return refuse(args.code, args.message, args.details);
    const own = withinTimeout(limits, tool, args);
    return { callId, tool, args, command, limits: own, options, parent };
  }

  #limitsOf(tool: RegisteredTool, options: ExecuteOptions, parent: EngineCall | null): Limits | string {
    if (parent !== null) return limitsWithin(parent, tool.limits);
    const { limits, maxLimits } = options;
    if (limits === undefined && maxLimits === undefined) return tool.limits;
    try {
      const { maxLimits: highest } = this.#bounds;
      const ceiling = maxLimits === undefined ? highest : resolveLimits(highest, maxLimits, highest);
      return resolveLimits(tool.limits, limits, ceiling);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}

/** Time beyond the timeout argument in which a tool can report its own timeout, in milliseconds. */
const LAST_WORDS_MS = 250;
/** Start time of an interpreter, not charged to the tool, in milliseconds. */
const INTERPRETER_MS = 2_000;

/** Narrows limits to the seconds in the tool's timeout argument, if the call has one. */
function withinTimeout(limits: Limits, { timeoutArgument, info, script }: RegisteredTool, args: string): Limits {
  if (timeoutArgument === null) return limits;
  const given = new Map<string, unknown>(Object.entries(JSON.parse(args) as object)).get(timeoutArgument);
  const seconds = given ?? defaultOf(info.inputSchema, timeoutArgument);
  if (typeof seconds !== "number" || seconds <= 0) return limits;
  const ms = seconds * 1000;
  const startMs = script.isInterpreted === true ? INTERPRETER_MS : 0;
  return {
    ...limits,
    cpuMs: Math.min(limits.cpuMs, ms),
    wallMs: Math.min(limits.wallMs, ms + LAST_WORDS_MS + startMs),
  };
}

/** The default of an argument, which the tool's isolate fills in. */
function defaultOf(schema: JsonSchema, argument: string): unknown {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  const own = isObject(properties) && Object.hasOwn(properties, argument) ? properties[argument] : undefined;
  return isObject(own) ? own["default"] : undefined;
}

/** A tool's limits, within the parent's remaining time and the limits to which the parent was narrowed. */
export function limitsWithin(parent: EngineCall, limits: Limits): Limits {
  const narrowed = { ...limits };
  for (const name of NAMES) {
    if (name === "memoryMb") continue;
    if (parent.options.limits?.[name] !== undefined || parent.options.maxLimits?.[name] !== undefined) {
      narrowed[name] = Math.min(limits[name], parent.limits[name]);
    }
  }
  const { wallMs, cpuMs } = parent.left();
  const waitMs = Math.min(narrowed.queueMs, wallMs);
  return {
    ...narrowed,
    queueMs: waitMs,
    wallMs: Math.min(narrowed.wallMs, wallMs),
    cpuMs: Math.min(narrowed.cpuMs, cpuMs),
  };
}
