import type { Broker } from "./broker/broker.ts";
import type { BrokerSession } from "./broker/session.ts";
import type { CapabilityRequest, ToolAnswer } from "./capabilities/capability.ts";
import { type ToolError, toolError } from "./errors.ts";
import type { Answer, Ask, Executor, Job, Reply } from "./executor/executor.ts";
import { describeExcess } from "./json.ts";
import type { Limits } from "./limits.ts";
import type { Failure } from "./protocol/messages.ts";
import type { ToolScript } from "./protocol/script.ts";
import type { LogLine, ResultMetadata, ToolResult } from "./result.ts";
import type { Entry, Slot } from "./schedule/entry.ts";
import type { Refusal } from "./schedule/refusal.ts";
import type { RegisteredTool } from "./tool/prepare.ts";

/** What a call may be given besides its arguments. */
export interface ExecuteOptions {
  /** Whose call it is: tenants share neither isolates nor queue places. */
  readonly tenant?: string;
  /** -10 to 10; higher goes first. Default 0. */
  readonly priority?: number;
  /** Cancels the call, whether it waits or runs. */
  readonly signal?: AbortSignal;
  /** Limits of this call, within the engine's ceiling. The heap's is the tool's: it belongs to its isolate. */
  readonly limits?: Partial<Omit<Limits, "memoryMb">>;
  /** Narrows what the tool is granted. */
  readonly capabilities?: CapabilityRequest;
  /** Gets console lines as they are written. */
  readonly onLog?: (line: LogLine) => void;
}

/** What calls need of their engine. */
export interface CallHost {
  readonly executor: Executor;
  readonly broker: Broker;
  nextRun(): number;
  /** Runs a tool on a call's behalf. */
  callTool(parent: EngineCall, name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer>;
  onEnd(call: EngineCall, result: ToolResult): void;
}

/** What is known of a call when it is admitted. */
export interface AdmittedCall {
  readonly callId: string;
  readonly tool: RegisteredTool;
  /** The arguments as JSON. */
  readonly args: string;
  readonly limits: Limits;
  readonly options: ExecuteOptions;
  /** The call on whose behalf it is made. */
  readonly parent: EngineCall | null;
}

/**
 * One call on its way through the engine: the entry that waits for a slot, the job that an executor runs, and the
 * result that comes of it. Each stage hands it on to the next, and whatever happens it ends once.
 */
export class EngineCall implements Entry, Job {
  /** A number of its own for each try: what is still said of an earlier one is not of this. */
  run: number;
  readonly callId: string;
  readonly tool: RegisteredTool;
  readonly tenant: string;
  readonly args: string;
  readonly limits: Limits;
  readonly options: ExecuteOptions;
  readonly parent: EngineCall | null;
  /** Processor time that calls on its behalf have used. */
  childCpuMs = 0;
  readonly #host: CallHost;
  #session: BrokerSession | null = null;
  #slot: Slot | null = null;
  #cancel: (() => void) | null = null;
  /** When it first went to a worker. */
  #startMs: number | null = null;
  #queueMs = 0;
  /** Starts of earlier tries, and how many of those there were. */
  #attempts = 0;
  #retries = 0;
  /** Effects of earlier tries. */
  #effects = 0;
  #resolve: (result: ToolResult) => void = () => undefined;

  constructor({ callId, tool, args, limits, options, parent }: AdmittedCall, host: CallHost) {
    this.run = host.nextRun();
    this.callId = callId;
    this.tool = tool;
    this.tenant = options.tenant ?? "";
    this.args = args;
    this.limits = limits;
    this.options = options;
    this.parent = parent;
    this.#host = host;
  }

  /** Who is told the result. */
  set onResult(resolve: (result: ToolResult) => void) {
    this.#resolve = resolve;
  }

  get script(): ToolScript {
    return this.tool.script;
  }

  get waitMs(): number {
    return Math.max(0, this.limits.queueMs - this.#queueMs);
  }

  get stream(): boolean {
    return this.options.onLog !== undefined;
  }

  ask(ask: Ask): Promise<Answer> {
    this.#session ??= this.#host.broker.open({
      callId: this.callId,
      parentId: this.parent?.callId,
      tool: this.tool.info.name,
      tags: this.tool.info.tags,
      tenant: this.tenant,
      requested: this.tool.capabilities,
      narrowed: this.options.capabilities,
      limits: this.limits,
      callTool: (name, args, signal) => this.#host.callTool(this, name, args, signal),
    });
    return this.#session.ask(ask);
  }

  onStart(startMs: number): void {
    this.#startMs ??= startMs;
  }

  /** What is left of its time, for calls on its behalf. */
  left(): Pick<Limits, "wallMs" | "cpuMs"> {
    const { wallMs, cpuMs } = this.limits;
    const passedMs = this.#startMs === null ? 0 : performance.now() - this.#startMs;
    return { wallMs: Math.max(0, wallMs - passedMs), cpuMs: Math.max(0, cpuMs - this.childCpuMs) };
  }

  start(slot: Slot, queueMs: number): void {
    this.#slot = slot;
    this.#queueMs = queueMs;
    const { signal } = this.options;
    if (signal !== undefined) {
      this.#cancel = () => this.#host.executor.cancel(this.run, "cancelled", "the call was cancelled while it ran");
      signal.addEventListener("abort", this.#cancel, { once: true });
    }
    this.#host.executor.run(this);
  }

  /** The call did not run. */
  refuse({ code, message, retryAfterMs, queueMs }: Refusal): void {
    this.fail(toolError(code, message, retryAfterMs === undefined ? undefined : { retryAfterMs }), queueMs);
  }

  /** Ends the call without a reply. */
  fail(error: ToolError, queueMs: number): void {
    this.#end(failure(error, emptyMetadata(this.callId, this.tool.info.name, queueMs)));
  }

  /** Takes what came of it; or runs again, where it failed in a way that may pass and its tool asks for retries. */
  settle(given: Reply): void {
    this.#session?.[Symbol.dispose]();
    const reply = this.#fellBehind(given) ? { ...given, outcome: FELL_BEHIND } : given;
    const { outcome, attempts } = reply;
    if (!outcome.ok && this.#mayRetry(outcome.failure)) {
      this.#attempts += attempts;
      this.#retries++;
      this.#queueMs += reply.waitedMs;
      this.#effects += this.#session?.effects ?? 0;
      // A capability that failed is asked again, and not the journal for its old answer.
      this.#session = null;
      this.run = this.#host.nextRun();
      this.#host.executor.run(this);
      return;
    }
    if (this.#cancel !== null) this.options.signal?.removeEventListener("abort", this.#cancel);
    // The slot is free before the caller hears of the result, so a caller who calls again finds it.
    this.#slot?.release();
    this.#end(this.#conclude(reply));
  }

  /** Whether the tool came to an end without all the effects that an earlier start of it had. */
  #fellBehind({ outcome, attempts }: Reply): boolean {
    if (!outcome.ok && !MAY_BE_BEHIND.has(outcome.failure.code)) return false;
    return this.#session?.isBehind(attempts) ?? false;
  }

  #mayRetry(failure: Failure): boolean {
    if (this.#retries >= this.tool.retries || this.options.signal?.aborted === true) return false;
    return !IN_VAIN.has(failure.code) && this.#describe(failure).retryable;
  }

  #end(result: ToolResult): void {
    this.#host.onEnd(this, result);
    this.#resolve(result);
  }

  onLog(line: string): void {
    const [level = "log", message = ""] = JSON.parse(line) as [string?, string?];
    try {
      this.options.onLog?.({ level, message });
    } catch {
      // A listener's exception is not the call's.
    }
  }

  /** The result of a call that ran. */
  #conclude(reply: Reply): ToolResult {
    try {
      return this.#read(reply, this.#metadata(reply));
    } catch {
      // Only an executor that is no longer ours sends what is not JSON.
      const message = "the executor answered with something that cannot be read";
      const metadata = emptyMetadata(this.callId, this.tool.info.name, this.#queueMs);
      return failure(toolError("executor_crashed", message), metadata);
    }
  }

  #read({ outcome }: Reply, metadata: ResultMetadata): ToolResult {
    if (!outcome.ok) return failure(this.#describe(outcome.failure), metadata);
    const { outputBytes } = this.limits;
    const size = byteLength(outcome.json, outputBytes);
    if (size > outputBytes) {
      const message = `the output has ${size} bytes of JSON, the limit is ${outputBytes}`;
      return failure(toolError("output_too_large", message), metadata);
    }
    const excess = describeExcess(outcome.json);
    if (excess !== null) return failure(toolError("invalid_output", `the output is ${excess}`), metadata);
    const output: unknown = JSON.parse(outcome.json);
    const violations = this.tool.checkOutput?.check(output) ?? [];
    if (violations.length === 0) return { success: true, output, error: null, metadata };
    const message = "the tool's output does not fit its outputSchema";
    return failure(toolError("invalid_output", message, { violations }), metadata);
  }

  #metadata(reply: Reply): ResultMetadata {
    const { cpuMs, waitedMs, wallMs, heapBytes, dropped } = reply;
    const logs = reply.logs === "" ? NO_LOGS : readLogs(reply.logs);
    const metadata = {
      callId: this.callId,
      tool: this.tool.info.name,
      queueMs: this.#queueMs + waitedMs,
      wallMs,
      cpuMs,
      heapBytes,
      attempts: this.#attempts + reply.attempts,
      logs,
    };
    return dropped === 0 ? metadata : { ...metadata, truncated: { logs: dropped } };
  }

  #describe({ code, message, type, stack }: Failure): ToolError {
    const effects = this.#effects + (this.#session?.effects ?? 0);
    const retryAfterMs =
      code === "tool_quarantined" ? this.#host.executor.refusedForMs(this.tool.info.name, this.tenant) : undefined;
    if (effects > 0 && LOST.has(code)) {
      // Its journal ends with it, so nobody but its caller can know whether its effects may be repeated.
      const said = `${message}; ${effects} of its capability calls had been carried out`;
      return {
        ...toolError(code, said, retryAfterMs === undefined ? { effects } : { effects, retryAfterMs }),
        retryable: false,
      };
    }
    if (retryAfterMs !== undefined) return toolError(code, message, { retryAfterMs });
    const details = stack === undefined ? undefined : { stack: this.tool.mapStack(stack) };
    return toolError(code, message, details, code === "tool_error" ? type : undefined);
  }
}

/** Ends of a call that had started, after which nobody knows how far it had come. */
const LOST: ReadonlySet<string> = new Set(["executor_lost", "tool_quarantined", "queue_timeout"]);
/** What would only come again if the call were tried again at once. */
const IN_VAIN: ReadonlySet<string> = new Set(["tool_quarantined", "queue_timeout"]);
/** How a call may end that waits for, or does without, what an earlier start of it had asked for. */
const MAY_BE_BEHIND: ReadonlySet<string> = new Set(["tool_error", "wall_limit"]);

/** An effect that the first run had and the last one did not ask for: what came of it is not what has happened. */
const FELL_BEHIND = {
  ok: false,
  failure: {
    code: "executor_lost",
    message: "the call was run again after its executor was lost and asked for less than before",
  },
} as const;

const NO_LOGS: readonly LogLine[] = Object.freeze([]);

export function failure(error: ToolError, metadata: ResultMetadata): ToolResult {
  return { success: false, output: null, error, metadata };
}

export function emptyMetadata(callId: string, tool: string, queueMs: number): ResultMetadata {
  return { callId, tool, queueMs, wallMs: 0, cpuMs: 0, heapBytes: 0, attempts: 0, logs: NO_LOGS };
}

/** UTF-8 bytes of a text; not counted where even the worst case is within the limit. */
export function byteLength(text: string, limit: number): number {
  return text.length * 3 <= limit ? text.length : Buffer.byteLength(text);
}

function readLogs(logs: string): LogLine[] {
  return (JSON.parse(logs) as [string, string][]).map(([level, message]) => ({ level, message }));
}
