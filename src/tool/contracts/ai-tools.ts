import { writableOutput } from "../../base/result.ts";
import type { ToolError } from "../../base/errors.ts";
import type { ToolResult } from "../../base/result.ts";
import { aiSdk, type AiTool } from "./ai-sdk.ts";
import { type OfferOptions, offeredTools, type RunOptions, type ToolRunner } from "./runner.ts";
import { failureTexts } from "./text-form.ts";

/** A tool of a tool set, with its `execute`. */
export type AiRunnableTool = AiTool & {
  execute(input: unknown, call: { toolCallId: string; abortSignal?: AbortSignal | undefined }): Promise<unknown>;
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
    super(failureTexts(error.message, writableOutput(result)).join("\n\n"));
    this.name = error.type;
    this.result = result;
  }
}

/**
 * The runner's current tools as a tool set of the `ai` package: `generateText({ tools: aiTools(engine) })`. The
 * package's abort signal cancels calls; a failed call throws an `AiToolFailure`, which the package converts to a
 * result.
 */
export function aiTools(
  runner: ToolRunner,
  { names, ...options }: AiToolsOptions = {},
): Record<string, AiRunnableTool> {
  return Object.fromEntries(
    offeredTools(runner, names).flatMap((tool) =>
      Object.entries(aiSdk.writeTool(tool)).map(([written, described]) => [
        written,
        { ...described, execute: executeOf(runner, tool.name, options) },
      ]),
    ),
  );
}

function executeOf(runner: ToolRunner, name: string, options: RunOptions): AiRunnableTool["execute"] {
  return async (input, { toolCallId: id, abortSignal: signal }) => {
    const result = await runner.execute(aiSdk.readCall({ type: "tool-call", toolCallId: id, toolName: name, input }), {
      ...options,
      ...(signal === undefined ? {} : { signal }),
    });
    if (result.error !== null) throw new AiToolFailure(result.error, result);
    return result.output;
  };
}
