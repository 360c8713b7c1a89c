import { randomUUID } from "node:crypto";
import type { ToolDescription } from "../kernel/tool/contracts/contract.ts";
import type { RunOptions, ToolRunner } from "../kernel/tool/contracts/runner.ts";
import { ToolParameterError } from "../contrib/xaibo/errors.ts";
import { parameterCheck } from "../contrib/xaibo/parameter-check.ts";
import { type ToolError, toolError } from "../kernel/base/errors.ts";
import { type EventName, Events, type Listener } from "../kernel/engine/telemetry/events.ts";
import type { ExecuteOptions } from "../kernel/engine/execute-options.ts";
import { DEFAULT_LIMITS } from "../kernel/base/limits.ts";
import { widerQueue } from "../kernel/base/remedy.ts";
import { emptyMetadata, failure, type ResultMetadata, type ToolCall, type ToolResult } from "../kernel/base/result.ts";

/** Target of faults, such as an engine. */
export interface FaultTarget extends ToolRunner {
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  on?<Name extends EventName>(event: Name, listener: Listener<Name>): unknown;
  off?<Name extends EventName>(event: Name, listener: Listener<Name>): unknown;
}

export interface FaultOptions {
  /** Number of next calls that fail. Default: all, until `clear`. */
  readonly times?: number;
}

export interface QueueFullOptions extends FaultOptions {
  /** Advised delay in the results, in milliseconds. Default 100. */
  readonly retryAfterMs?: number;
  /** Number of waiting calls in the results' messages. Default 10,000. */
  readonly waiting?: number;
}

/** End of a call with a fault. */
interface Ending {
  readonly error: ToolError;
  readonly metadata: ResultMetadata;
}

interface Fault {
  /** `null`: every tool. */
  readonly tool: string | null;
  left: number;
  readonly end: (callId: string, tool: ToolDescription, options: ExecuteOptions) => Ending;
}

/**
 * Wraps an engine and makes chosen calls fail, for tests of code that depends on it. A forced failure has all fields of
 * the engine's own, comes at once, and is emitted only to listeners of this runner, not to the engine, its metrics or
 * its listeners. Calls that the engine would refuse earlier (unknown tools, invalid arguments, an aborted signal) end
 * as usual.
 */
export class FaultyRunner implements ToolRunner {
  readonly #target: FaultTarget;
  readonly #events = new Events();
  #faults: Fault[] = [];

  constructor(target: FaultTarget) {
    this.#target = target;
  }

  /** Ends the tool's calls with `wall_limit`, as if they had exceeded their `wallMs`. */
  forceTimeout(tool: string, options: FaultOptions = {}): this {
    return this.#add(tool, options, (callId, { name, limits }, given) => {
      const wallMs = given.limits?.wallMs ?? limits?.wallMs ?? DEFAULT_LIMITS.wallMs;
      const metadata = { ...emptyMetadata(callId, name, 0), wallMs, attempts: 1 };
      return { error: toolError("wall_limit", `the call took longer than ${wallMs} ms (limits.wallMs)`), metadata };
    });
  }

  /** Ends the tool's calls with `executor_crashed`, as if they had ended their process. The tool is not quarantined. */
  forceCrash(tool: string, options: FaultOptions = {}): this {
    const message = "the call ended the process that ran it (SIGABRT)";
    return this.#add(tool, options, (callId, { name }) => ({
      error: toolError("executor_crashed", message),
      metadata: { ...emptyMetadata(callId, name, 0), attempts: 1 },
    }));
  }

  /** Ends all calls of all tools with `queue_full`, with `details.retryAfterMs`. */
  queueFull({ retryAfterMs = 100, waiting = 10_000, ...options }: QueueFullOptions = {}): this {
    return this.#add(null, options, (callId, { name }) => ({
      error: {
        ...toolError("queue_full", `the queue is full: ${waiting} calls are waiting`, { retryAfterMs }),
        remedies: [widerQueue(waiting)],
      },
      metadata: emptyMetadata(callId, name, 0),
    }));
  }

  /** Removes the faults of one tool, or all faults. */
  clear(tool?: string): this {
    this.#faults = tool === undefined ? [] : this.#faults.filter((fault) => fault.tool !== tool);
    return this;
  }

  list(): readonly ToolDescription[] {
    return this.#target.list();
  }

  get(name: string): ToolDescription | undefined {
    return this.#target.get(name);
  }

  execute(call: ToolCall, options: ExecuteOptions & RunOptions = {}): Promise<ToolResult> {
    const tool = typeof call?.name === "string" ? this.#target.get(call.name) : undefined;
    if (tool === undefined || options.signal?.aborted === true || !fits(tool, call)) {
      return this.#target.execute(call, options);
    }
    const fault = this.#faults.find((one) => one.tool === null || one.tool === tool.name);
    if (fault === undefined) return this.#target.execute(call, options);
    fault.left--;
    if (fault.left === 0) this.#faults = this.#faults.filter((one) => one !== fault);
    return Promise.resolve(this.#end(fault, call, tool, options));
  }

  /** Subscribes to events of forced failures and of the engine. */
  on<Name extends EventName>(event: Name, listener: Listener<Name>): this {
    this.#events.on(event, listener);
    this.#target.on?.(event, listener);
    return this;
  }

  off<Name extends EventName>(event: Name, listener: Listener<Name>): this {
    this.#events.off(event, listener);
    this.#target.off?.(event, listener);
    return this;
  }

  #add(tool: string | null, { times = Number.POSITIVE_INFINITY }: FaultOptions, end: Fault["end"]): this {
    if (!(times > 0)) throw new RangeError("times must be a number above 0");
    this.#faults.push({ tool, left: times, end });
    return this;
  }

  #end(fault: Fault, call: ToolCall, tool: ToolDescription, options: ExecuteOptions): ToolResult {
    const callId = call.id ?? randomUUID();
    const who = { callId, tool: tool.name, tenant: options.tenant ?? "" };
    let reason: string | null = null;
    const block = (why: string) => {
      reason ??= String(why).slice(0, 1_000);
    };
    // A call that is made to fail has no use for other arguments, nor for late decisions.
    const ignore = (): void => undefined;
    const decide = { block, replaceArguments: ignore, waitFor: ignore, requireApproval: block };
    this.#events.emit("tool:pre", { ...who, call, ...decide });
    const { error, metadata } =
      reason === null
        ? fault.end(callId, tool, options)
        : { error: toolError("blocked", reason), metadata: emptyMetadata(callId, tool.name, 0) };
    const result = failure(error, metadata);
    this.#events.emit("tool:error", { ...who, result });
    return result;
  }
}

/** Wraps an engine to inject faults. */
export function faults(target: FaultTarget): FaultyRunner {
  return new FaultyRunner(target);
}

function fits({ inputSchema }: ToolDescription, call: ToolCall): boolean {
  if (call.command !== undefined) return true;
  try {
    parameterCheck(inputSchema)(call.arguments);
    return true;
  } catch (error) {
    if (error instanceof ToolParameterError) return false;
    throw error;
  }
}
