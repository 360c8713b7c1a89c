import type { Broker, BrokerSession } from "./broker/broker.ts";
import type { CapabilityRequest } from "./capabilities/capability.ts";
import { type ToolError, toolError } from "./errors.ts";
import type { Answer, Ask, Job, Reply } from "./executor/executor.ts";
import { isNestedTooDeeply, NESTING_MAX } from "./json.ts";
import type { Limits } from "./limits.ts";
import type { Failure } from "./protocol/messages.ts";
import type { ToolScript } from "./protocol/script.ts";
import type { LogLine, ResultMetadata, ToolResult } from "./result.ts";
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

/** One call on its way through the engine: the job that an executor runs, and the result that comes of it. */
export class EngineCall implements Job {
  readonly run: number;
  readonly callId: string;
  readonly tool: RegisteredTool;
  readonly tenant: string;
  readonly args: string;
  readonly limits: Limits;
  readonly options: ExecuteOptions;
  readonly #broker: Broker;
  #session: BrokerSession | null = null;

  constructor(
    run: number,
    callId: string,
    tool: RegisteredTool,
    args: string,
    limits: Limits,
    options: ExecuteOptions,
    broker: Broker,
  ) {
    this.run = run;
    this.callId = callId;
    this.tool = tool;
    this.tenant = options.tenant ?? "";
    this.args = args;
    this.limits = limits;
    this.options = options;
    this.#broker = broker;
  }

  get script(): ToolScript {
    return this.tool.script;
  }

  get stream(): boolean {
    return this.options.onLog !== undefined;
  }

  ask(ask: Ask): Promise<Answer> {
    this.#session ??= this.#broker.open({
      callId: this.callId,
      tool: this.tool.info.name,
      tags: this.tool.info.tags,
      tenant: this.tenant,
      requested: this.tool.capabilities,
      narrowed: this.options.capabilities,
      limits: this.limits,
    });
    return this.#session.ask(ask);
  }

  /** Begins a journal of its own for a retry: a capability that failed is asked again, not its old answer. */
  renew(): void {
    this.#session?.[Symbol.dispose]();
    this.#session = null;
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
  conclude(reply: Reply, queueMs: number): ToolResult {
    this.#session?.[Symbol.dispose]();
    try {
      return this.#read(reply, this.#metadata(reply, queueMs));
    } catch {
      // Only an executor that is no longer ours sends what is not JSON.
      const message = "the executor answered with something that cannot be read";
      return this.refuse(toolError("executor_crashed", message), queueMs);
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
    if (isNestedTooDeeply(outcome.json)) {
      const message = `the output is nested deeper than ${NESTING_MAX} levels`;
      return failure(toolError("invalid_output", message), metadata);
    }
    const output: unknown = JSON.parse(outcome.json);
    const violations = this.tool.checkOutput?.check(output) ?? [];
    if (violations.length === 0) return { success: true, output, error: null, metadata };
    const message = "the tool's output does not fit its outputSchema";
    return failure(toolError("invalid_output", message, { violations }), metadata);
  }

  /** The result of a call without a reply. */
  refuse(error: ToolError, queueMs: number): ToolResult {
    return failure(error, emptyMetadata(this.callId, this.tool.info.name, queueMs));
  }

  #metadata(reply: Reply, queueMs: number): ResultMetadata {
    const { cpuMs, wallMs, heapBytes, attempts, dropped } = reply;
    const logs = reply.logs === "" ? NO_LOGS : readLogs(reply.logs);
    const metadata = {
      callId: this.callId,
      tool: this.tool.info.name,
      queueMs,
      wallMs,
      cpuMs,
      heapBytes,
      attempts,
      logs,
    };
    return dropped === 0 ? metadata : { ...metadata, truncated: { logs: dropped } };
  }

  #describe({ code, message, type, stack }: Failure): ToolError {
    const details = stack === undefined ? undefined : { stack: this.tool.mapStack(stack) };
    return toolError(code, message, details, code === "tool_error" ? type : undefined);
  }
}

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
