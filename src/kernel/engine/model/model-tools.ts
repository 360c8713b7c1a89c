import type { ToolCall, ToolResult } from "../../base/result.ts";
import type { ToolDescription } from "../../tool/contracts/contract.ts";
import type { ModelAnswer, ModelRunner, OwnWaits, RunOptions, ToolRunner } from "../../tool/contracts/runner.ts";
import { READ_OUTPUT, WAIT_CALL } from "../../tool/program/program.ts";
import type { AnswerWork, ExecuteOptions } from "../execute-options.ts";
import type { CallHistory } from "../call-history.ts";
import type { OutputOwner } from "./kept-outputs.ts";
import type { ModelOutputs } from "./model-outputs.ts";
import { ownWaits } from "./own-waits.ts";
import { readOutputTool } from "./read-output-tool.ts";
import { offersWaitCall, WAIT_CALL_TOOL, waitForCall } from "./wait-call.ts";

/** An engine, or the part of one that a caller may use. */
export interface ModelToolsSource extends ToolRunner {
  /** Answers a call that runs no tool. `work` gets the options that its caller may have. */
  answer(call: ToolCall, work: AnswerWork, options: ExecuteOptions): Promise<ToolResult>;
  /** The owner of the kept outputs of its calls. */
  ownerOf(options: ExecuteOptions): OutputOwner;
  waits(options?: Pick<RunOptions, "tenant">): OwnWaits;
  mayWait(): boolean;
  /** Whether its caller may use a tool now. */
  mayName(tool: string): boolean;
}

/** Tools of an engine for a model. An operator's own tool with the name `read_output` replaces this one. */
export class ModelTools implements ModelRunner {
  readonly #source: ModelToolsSource;
  readonly #outputs: () => Promise<ModelOutputs>;
  readonly #modelChars: number;
  readonly #readOutput: ToolDescription;

  /** `outputs`: loaded with the first call. */
  constructor(source: ModelToolsSource, outputs: () => Promise<ModelOutputs>, modelChars: number) {
    this.#source = source;
    this.#outputs = outputs;
    this.#modelChars = modelChars;
    this.#readOutput = readOutputTool(modelChars);
  }

  list(): readonly ToolDescription[] {
    const tools = this.#source.list();
    const own = [
      ...(this.readsOn ? [this.#readOutput] : []),
      ...(offersWaitCall(this.#source) ? [WAIT_CALL_TOOL] : []),
    ];
    return own.length === 0 ? tools : [...tools, ...own];
  }

  get(name: string): ToolDescription | undefined {
    const given = this.#source.get(name);
    if (given !== undefined) return given;
    if (name === WAIT_CALL && offersWaitCall(this.#source)) return WAIT_CALL_TOOL;
    return name === READ_OUTPUT && this.readsOn ? this.#readOutput : undefined;
  }

  describeMissing(name: string): string {
    return this.#source.describeMissing?.(name) ?? `there is no tool "${name.slice(0, 128)}"`;
  }

  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
    return (await this.answerCall(call, options)).shown;
  }

  async answerCall(call: ToolCall, options: ExecuteOptions = {}): Promise<ModelAnswer> {
    const source = this.#source;
    const outputs = await this.#outputs();
    const { readsOn } = this;
    if (call?.name === READ_OUTPUT && readsOn) {
      const bounds = { owner: source.ownerOf(options), modelChars: this.#modelChars };
      const read = (own: ExecuteOptions) =>
        outputs.read(call.arguments, { ...bounds, options: own }, (tool) => source.mayName(tool));
      const result = await source.answer(call, read, options);
      return { result, shown: result, kept: null };
    }
    const waits = call?.name === WAIT_CALL && offersWaitCall(source) ? source.waits(options) : undefined;
    const wait = waits && ((own: ExecuteOptions) => waitForCall(call.arguments, waits, own.signal));
    const result = await (wait === undefined ? source.execute(call, options) : source.answer(call, wait, options));
    return outputs.show(result, { owner: source.ownerOf(options), modelChars: this.#modelChars, readsOn });
  }

  async showResult(result: ToolResult, options: ExecuteOptions = {}): Promise<ModelAnswer> {
    const outputs = await this.#outputs();
    const owner = this.#source.ownerOf(options);
    return outputs.show(result, { owner, modelChars: this.#modelChars, readsOn: this.readsOn });
  }

  waits(options: Pick<RunOptions, "tenant"> = {}): OwnWaits {
    return this.#source.waits(options);
  }

  get readsOn(): boolean {
    return this.#modelChars !== Number.POSITIVE_INFINITY && this.#source.get(READ_OUTPUT) === undefined;
  }
}

/** The part of an engine for a source of all its tools. */
interface SourceEngine extends Pick<ModelToolsSource, "list" | "get" | "execute" | "answer"> {
  readonly calls: Pick<CallHistory, "durable" | "mayWait">;
}

/** All of an engine. */
export function sourceOf(engine: SourceEngine): ModelToolsSource {
  return {
    list: () => engine.list(),
    get: (name) => engine.get(name),
    execute: (call, options) => engine.execute(call, options),
    answer: (call, work, options) => engine.answer(call, work, options),
    ownerOf: ({ tenant = "" }) => ({ tenant, key: null }),
    mayName: () => true,
    waits: ({ tenant } = {}) =>
      ownWaits(engine.calls.durable, { key: null, tenant }, { identity: tenant ?? "", mayDecide: () => true }),
    mayWait: () => engine.list().some(({ name }) => engine.calls.mayWait(name)),
  };
}
