import type { LogLine, Progress, ToolCall, ToolResult } from "../../base/result.ts";
import type { Decision, DurableCall } from "../../store/calls/durable/durable-call.ts";
import { READ_OUTPUT, WAIT_CALL } from "../program/program.ts";
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

/** The part of an engine that contracts and adapters need. `Tools`: the types of its tools, if they are known. */
export interface ToolRunner<Tools = unknown> {
  /** Types only. */
  readonly "~tools"?: Tools;
  list(): readonly ToolDescription[];
  get(name: string): ToolDescription | undefined;
  /** Advice about a name that `get` does not find. */
  describeMissing?(name: string): string;
  /** Never rejects: every failure is in the result. */
  execute(call: ToolCall, options?: RunOptions): Promise<ToolResult>;
  /** Waiting calls of its caller; `undefined` if calls cannot wait. */
  waits?(options?: Pick<RunOptions, "tenant">): OwnWaits | undefined;
  /** The tools in the form for models: with `read_output`, and with long outputs cut. Absent if no output is long. */
  forModels?(options?: ModelOptions): ModelRunner;
}

/** Waiting calls of one caller: those of others do not exist for it. Methods reject as those of `DurableCalls` do. */
export interface OwnWaits {
  /** Identifies the caller. */
  readonly identity: string;
  /** Whether the caller may decide itself, by rules with `self: true`. */
  mayDecide(): boolean;
  get(id: string): Promise<DurableCall | undefined>;
  decide(id: string, decision: Decision): Promise<DurableCall | undefined>;
  /** The result of a call, or `paused`. `waitMs`: time to wait for its end, at most 25,000. */
  result(
    id: string,
    options: { readonly waitMs: number; readonly signal?: AbortSignal },
  ): Promise<ToolResult | undefined>;
}

/** Options of outputs for models. */
export interface ModelOptions {
  /**
   * Length of an output, in UTF-16 units, beyond which a model gets its beginning, its end and its shape. A tool's own
   * `outputChars` takes precedence. At least 1,000; `Infinity`: outputs are never cut. Default: the engine's.
   */
  readonly modelChars?: number;
}

/** The end of a call for a model. */
export interface ModelAnswer {
  readonly result: ToolResult;
  /** The result as the model reads it. */
  readonly shown: ToolResult;
  /** Id of the output for `read_output`, if it was cut and kept. */
  readonly kept: string | null;
}

/** Runs the tools of a model, which reads on in a long output with `read_output`. */
export interface ModelRunner extends ToolRunner {
  /** Whether long outputs are cut, and `read_output` is one of the tools. */
  readonly readsOn: boolean;
  /** Runs a call. Never rejects. `execute` returns the `shown` part. */
  answerCall(call: ToolCall, options?: RunOptions): Promise<ModelAnswer>;
  /** An existing result, in the form for the model. */
  showResult?(result: ToolResult, options?: RunOptions): Promise<ModelAnswer>;
}

/** The runner as a model gets it. */
export function forModel(runner: ToolRunner, options?: ModelOptions): ToolRunner | ModelRunner {
  return runner.forModels?.(options) ?? runner;
}

/** A runner for an agent's loop, which offers `read_output` once there is an output to continue reading. */
export interface LoopRunner extends Pick<ToolRunner, "get" | "execute"> {
  /** `read_output`, if an output was cut and kept; else `undefined`. */
  readonly reader: ToolDescription | undefined;
}

/** The runner as an agent's loop has it: long outputs are cut. */
export function forLoop(runner: ToolRunner, options?: ModelOptions): LoopRunner {
  const tools = forModel(runner, options);
  let reader: ToolDescription | undefined;
  return {
    get: (name) => (name === READ_OUTPUT && runner.get(name) === undefined ? reader : tools.get(name)),
    get reader() {
      return reader;
    },
    execute: async (call, given) => {
      if (!("answerCall" in tools)) return tools.execute(call, given);
      const { shown, kept } = await tools.answerCall(call, given);
      if (kept !== null) reader = tools.get(READ_OUTPUT);
      return shown;
    },
  };
}

/** Options of adapters that offer an engine's tools to a model. */
export interface OfferOptions<Name extends string = string> extends Pick<RunOptions, "tenant">, ModelOptions {
  /** Names of the offered tools, to which `read_output` is added. Default: all that are registered now. */
  readonly names?: readonly Name[];
}

/** The tools that are offered. */
export function offeredTools(runner: ToolRunner, names: readonly string[] | undefined): readonly ToolDescription[] {
  const chosen = names === undefined ? null : new Set([...names, READ_OUTPUT, WAIT_CALL]);
  return runner.list().filter(({ name }) => chosen?.has(name) ?? true);
}
