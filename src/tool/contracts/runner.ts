import type { LogLine, Progress, ToolCall, ToolResult } from "../../base/result.ts";
import type { ToolDescription } from "./contract.ts";

/** Options of a call, as far as contracts need them. */
export interface RunOptions {
  readonly tenant?: string;
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
  /** Receives console lines as they are written. */
  readonly onLog?: (line: LogLine) => void;
  /** Receives the tool's progress reports. */
  readonly onProgress?: (progress: Progress) => void;
}

/** The part of an engine that contracts need. */
export interface ToolRunner {
  list(): readonly ToolDescription[];
  get(name: string): ToolDescription | undefined;
  /** Never rejects: every failure is in the result. */
  execute(call: ToolCall, options?: RunOptions): Promise<ToolResult>;
}
