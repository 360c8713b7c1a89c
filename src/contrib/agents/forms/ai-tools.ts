import { BoundedCache } from "../../../kernel/base/bounded-cache.ts";
import type { ToolError } from "../../../kernel/base/errors.ts";
import { emptyMetadata, success, type ToolResult } from "../../../kernel/base/result.ts";
import { type AiModelOutput, aiSdk, type AiTool, writeOutput } from "./ai-sdk.ts";
import {
  forModel,
  type ModelRunner,
  type OfferOptions,
  offeredTools,
  type RunOptions,
  type ToolRunner,
} from "../../../kernel/tool/contracts/runner.ts";
import { outputParts, SHOWS_NOTHING, textsOf } from "../../../kernel/tool/contracts/model-parts.ts";

/** A tool of a tool set, with its `execute`. */
export type AiRunnableTool = AiTool & {
  execute(input: unknown, call: { toolCallId: string; abortSignal?: AbortSignal | undefined }): Promise<unknown>;
  /** The part of an output that the model reads: all of it, or its beginning, its end and its shape. */
  toModelOutput?(answer: { readonly toolCallId: string; readonly output: unknown }): AiModelOutput;
};

export type AiToolsOptions = OfferOptions;

/**
 * Thrown when a tool fails under the `ai` package, which passes the message to the model and continues. The tool's
 * partial output follows the message.
 */
export class AiToolFailure extends Error {
  override readonly name: string;
  readonly result: ToolResult;

  constructor(error: ToolError, result: ToolResult) {
    super([error.message, ...textsOf(outputParts(result, SHOWS_NOTHING).parts)].join("\n\n"));
    this.name = error.type;
    this.result = result;
  }
}

/**
 * The runner's current tools as a tool set of the `ai` package: `generateText({ tools: aiTools(engine) })`. The
 * package's abort signal cancels calls; a failed call throws an `AiToolFailure`, which the package converts to a
 * result. With `modelChars`, `toModelOutput` cuts a long output for the model, and `read_output` is one of the tools;
 * `execute` returns the whole output.
 */
export function aiTools(
  runner: ToolRunner,
  { modelChars, ...options }: AiToolsOptions = {},
): Record<string, AiRunnableTool> {
  return aiToolsOf(modelChars === undefined ? runner : forModel(runner, { modelChars }), options);
}

/** The tools of a runner as a tool set: outputs are cut as the runner cuts them. */
export function aiToolsOf(
  tools: ToolRunner,
  { names, ...options }: Omit<AiToolsOptions, "modelChars">,
): Record<string, AiRunnableTool> {
  return Object.fromEntries(
    offeredTools(tools, names).flatMap((tool) =>
      Object.entries(aiSdk.writeTool(tool)).map(([written, described]) => [
        written,
        { ...described, ...runnerOf(tools, tool.name, options) },
      ]),
    ),
  );
}

/** Cut outputs that the package has not requested yet. */
const CUT_MAX = 1_000;

function runnerOf(
  runner: ToolRunner | ModelRunner,
  name: string,
  options: RunOptions,
): Pick<AiRunnableTool, "execute" | "toModelOutput"> {
  const run = async (
    input: unknown,
    { toolCallId: id, abortSignal: signal }: { toolCallId: string; abortSignal?: AbortSignal | undefined },
  ) => {
    const call = aiSdk.readCall({ type: "tool-call", toolCallId: id, toolName: name, input });
    const called = { ...options, ...(signal === undefined ? {} : { signal }) };
    if ("answerCall" in runner) return runner.answerCall(call, called);
    const result = await runner.execute(call, called);
    return { result, shown: result };
  };
  const cut = new BoundedCache<unknown>(CUT_MAX);
  return {
    execute: async (input, call) => {
      const { result, shown } = await run(input, call);
      if (result.error !== null) throw new AiToolFailure(result.error, shown);
      if (shown !== result) cut.set(call.toolCallId, shown.output);
      return result.output;
    },
    toModelOutput: ({ toolCallId, output }) => {
      const shown = cut.get(toolCallId) ?? output ?? null;
      return writeOutput(success(shown, emptyMetadata(toolCallId, name, 0)));
    },
  };
}
