import type { LogLine, Progress, ToolCall, ToolResult } from "../../base/result.ts";
import type { ToolDescription } from "./contract.ts";

/** How a call is made, as far as contracts know of it. */
export interface RunOptions {
  readonly tenant?: string;
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
  /** Gets console lines as they are written. */
  readonly onLog?: (line: LogLine) => void;
  /** Gets what the tool says of how far it has come. */
  readonly onProgress?: (progress: Progress) => void;
}

/** What runs tools: an engine is one. What speaks a contract on an engine's behalf needs no more of it than this. */
export interface ToolRunner {
  list(): readonly ToolDescription[];
  get(name: string): ToolDescription | undefined;
  /** Never rejects: whatever goes wrong is in the result. */
  execute(call: ToolCall, options?: RunOptions): Promise<ToolResult>;
}
