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

/** The part of an engine that contracts and adapters need. `Tools`: the types of its tools, where they are known. */
export interface ToolRunner<Tools = unknown> {
  /** Types only. */
  readonly "~tools"?: Tools;
  list(): readonly ToolDescription[];
  get(name: string): ToolDescription | undefined;
  /** Says of a name that `get` does not know what to do instead. */
  describeMissing?(name: string): string;
  /** Never rejects: every failure is in the result. */
  execute(call: ToolCall, options?: RunOptions): Promise<ToolResult>;
}

/** Options of what offers an engine's tools to a model. */
export interface OfferOptions<Name extends string = string> extends Pick<RunOptions, "tenant"> {
  /** Names of the offered tools. Default: all that are registered now. */
  readonly names?: readonly Name[];
}

/** The tools that are offered. */
export function offeredTools(runner: ToolRunner, names: readonly string[] | undefined): readonly ToolDescription[] {
  const chosen = names === undefined ? null : new Set(names);
  return runner.list().filter(({ name }) => chosen?.has(name) ?? true);
}
