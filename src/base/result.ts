import type { ToolError } from "./errors.ts";

/** A call as it comes in. */
export interface ToolCall {
  /** The caller's own id; the engine makes one where it is missing. At most 256 characters. */
  readonly id?: string;
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  /** The operation that is meant, of a tool that has others beside its main one. Its arguments have no schema. */
  readonly command?: string;
}

export interface LogLine {
  /** `debug`, `log`, `info`, `warn` or `error`. */
  readonly level: string;
  readonly message: string;
}

/** How far a tool says that it has come. */
export interface Progress {
  readonly progress: number;
  /** What `progress` is when it is done, where that is known. */
  readonly total?: number;
  readonly message?: string;
}

/** What a call cost and how it went. Times in milliseconds. */
export interface ResultMetadata {
  readonly callId: string;
  readonly tool: string;
  readonly queueMs: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly heapBytes: number;
  /** How often the call was started: above 1 when an executor was lost under it. 0 when it never started. */
  readonly attempts: number;
  readonly logs: readonly LogLine[];
  /** What was cut off: dropped log lines, for example. */
  readonly truncated?: { readonly output?: number; readonly logs?: number };
  readonly [key: string]: unknown;
}

/** Every call ends in one of these, whatever the tool does. */
export interface ToolResult {
  readonly success: boolean;
  readonly output: unknown;
  readonly error: ToolError | null;
  readonly metadata: ResultMetadata;
}

export const NO_LOGS: readonly LogLine[] = Object.freeze([]);

/** The result of a call that failed. */
export function failure(error: ToolError, metadata: ResultMetadata): ToolResult {
  return { success: false, output: null, error, metadata };
}

/** What is told of a call that did not run. */
export function emptyMetadata(callId: string, tool: string, queueMs: number): ResultMetadata {
  return { callId, tool, queueMs, wallMs: 0, cpuMs: 0, heapBytes: 0, attempts: 0, logs: NO_LOGS };
}
