import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { aiToolsOf } from "../forms/ai-tools.ts";
import { forModel, type OfferOptions, type ToolRunner } from "../../../kernel/tool/contracts/runner.ts";
import type { InputOf, OutputOf, ToolName } from "../../../kernel/tool/register.ts";

interface AiSchemaOf<Input> {
  readonly "~standard": StandardSchemaV1.Props<unknown, Input> & StandardJSONSchemaV1.Props<unknown, Input>;
}

/** A tool set of the `ai` package, with the types of the tools. */
export type AiTools<Tools> = {
  [Name in ToolName<Tools>]: {
    description: string;
    inputSchema: AiSchemaOf<InputOf<Tools, Name>>;
    execute(
      input: InputOf<Tools, Name>,
      call: { toolCallId: string; abortSignal?: AbortSignal | undefined },
    ): Promise<OutputOf<Tools, Name>>;
  };
};

/**
 * The tools of an engine as a tool set of the `ai` package: `generateText({ tools: toolsForAISDK(engine) })`. The
 * package's abort signal cancels calls. A failed call throws an `AiToolFailure`, which the package shows to the model. The
 * model reads long outputs in parts, with `read_output`; `execute` gives all of them.
 */
export function toolsForAISDK<Tools>(
  runner: ToolRunner<Tools>,
  { modelChars, ...options }: OfferOptions<ToolName<Tools>> = {},
): AiTools<Tools> {
  // The schemas say at run time what `Tools` says when a program is compiled.
  return aiToolsOf(
    forModel(runner, modelChars === undefined ? {} : { modelChars }),
    options,
  ) as unknown as AiTools<Tools>;
}
