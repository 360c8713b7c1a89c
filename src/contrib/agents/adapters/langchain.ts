import { copyJson } from "../../../kernel/base/json-writer.ts";
import { importOptional } from "../../../kernel/base/optional-package.ts";
import { unwrap } from "../../../kernel/base/result.ts";
import { objectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { forModel, type OfferOptions, offeredTools, type ToolRunner } from "../../../kernel/tool/contracts/runner.ts";

/** @ts-ignore: an optional peer. Programs that do not install it compile, also where they check libraries. */
export type LangChainTool = import("@langchain/core/tools").StructuredToolInterface;

/**
 * The tools of an engine for LangChain: `createAgent({ tools: await toolsForLangChain(engine) })`. The run's abort signal
 * cancels calls. A text output is passed as it is, any other as JSON. A failed call throws a `ToolCallError`. Rejects
 * with `missing_package` where `@langchain/core` is not installed.
 */
export async function toolsForLangChain(
  runner: ToolRunner,
  { names, modelChars, ...options }: OfferOptions = {},
): Promise<LangChainTool[]> {
  const tools = forModel(runner, modelChars === undefined ? {} : { modelChars });
  const feature = "toolsForLangChain";
  const { tool: makeTool } = await importOptional(feature, ["@langchain/core"], () => import("@langchain/core/tools"));
  // LangChain writes into schemas.
  return offeredTools(tools, names).map(({ name, description, inputSchema }) =>
    makeTool(
      async (input: unknown, { signal }: { signal?: AbortSignal }) => {
        const called = signal === undefined ? options : { ...options, signal };
        const output = unwrap(await tools.execute({ name, arguments: input as Record<string, unknown> }, called));
        return typeof output === "string" ? output : JSON.stringify(output);
      },
      { name: writeName(name), description, schema: copyJson(objectSchema(inputSchema)) },
    ),
  );
}
