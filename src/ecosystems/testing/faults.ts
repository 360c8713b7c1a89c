import { randomUUID } from "node:crypto";
import type { ToolDescription } from "../../tool/contracts/contract.ts";
import type { RunOptions, ToolRunner } from "../../tool/contracts/runner.ts";
import { ToolParameterError } from "../xaibo/errors.ts";
import { parameterCheck } from "../xaibo/parameter-check.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import { type EventName, Events, type Listener } from "../../engine/telemetry/events.ts";
import type { ExecuteOptions } from "../../engine/execute-options.ts";
import { DEFAULT_LIMITS } from "../../base/limits.ts";
import { emptyMetadata, failure, type ResultMetadata, type ToolCall, type ToolResult } from "../../base/result.ts";

/** What faults can be put around: an engine is one. */
export interface FaultTarget extends ToolRunner {
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  on?<Name extends EventName>(event: Name, listener: Listener<Name>): unknown;
  off?<Name extends EventName>(event: Name, listener: Listener<Name>): unknown;
}

export interface FaultOptions {
  /** How many of the next calls it is about. Default: all, until `clear`. */
  readonly times?: number;
}

export interface QueueFullOptions extends FaultOptions {
  /** What the results advise, in milliseconds. Default 100. */
  readonly retryAfterMs?: number;
  /** Calls that wait, as the results tell. Default 10,000. */
  readonly waiting?: number;
}

/** How a call ends that has a fault. */
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
 * An engine whose calls fail when they are told to, for tests of what depends on it. A forced failure is the engine's own
 * in every field, comes at once, and is told to listeners of this runner; the engine, its metrics and its own listeners
 * know nothing of it. Calls that would not have come as far (unknown tools, wrong arguments, an aborted signal) end as
 * they would.
 */
export class FaultyRunner implements ToolRunner {
  readonly #target: FaultTarget;
  readonly #events = new Events();
  #faults: Fault[] = [];

  constructor(target: FaultTarget) {
    this.#target = target;
  }

  /** Calls of the tool take longer than their `wallMs`: `wall_limit`. */
  forceTimeout(tool: string, options: FaultOptions = {}): this {
    return this.#add(tool, options, (callId, { name, limits }, given) => {
      const wallMs = given.limits?.wallMs ?? limits?.wallMs ?? DEFAULT_LIMITS.wallMs;
      const metadata = { ...emptyMetadata(callId, name, 0), wallMs, attempts: 1 };
      return { error: toolError("wall_limit", `the call took longer than ${wallMs} ms`), metadata };
    });
  }

  /** Calls of the tool end the process that runs them: `executor_crashed`. There is no quarantine. */
  forceCrash(tool: string, options: FaultOptions = {}): this {
    const message = "the call ended the process that ran it (SIGABRT)";
    return this.#add(tool, options, (callId, { name }) => ({
      error: toolError("executor_crashed", message),
      metadata: { ...emptyMetadata(callId, name, 0), attempts: 1 },
    }));
  }

  /** No call of any tool finds room: `queue_full`, with `details.retryAfterMs`. */
  queueFull({ retryAfterMs = 100, waiting = 10_000, ...options }: QueueFullOptions = {}): this {
    return this.#add(null, options, (callId, { name }) => ({
      error: toolError("queue_full", `the queue is full: ${waiting} calls are waiting`, { retryAfterMs }),
      metadata: emptyMetadata(callId, name, 0),
    }));
  }

  /** Takes back what was forced: for one tool, or all of it. */
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

  /** Hears of forced failures, and of everything that the engine tells. */
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
    this.#events.emit("tool:pre", { ...who, call, block });
    const { error, metadata } =
      reason === null
        ? fault.end(callId, tool, options)
        : { error: toolError("blocked", reason), metadata: emptyMetadata(callId, tool.name, 0) };
    const result = failure(error, metadata);
    this.#events.emit("tool:error", { ...who, result });
    return result;
  }
}

/** Puts faults around an engine. */
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
