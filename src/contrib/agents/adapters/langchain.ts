import { copyJson } from "../../../kernel/base/json-writer.ts";
import { importOptional } from "../../../kernel/base/optional-package.ts";
import { unwrap } from "../../../kernel/base/result.ts";
import { resultTexts } from "../../../kernel/tool/contracts/model-parts.ts";
import { objectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { type OfferOptions, offeredTools, type ToolRunner } from "../../../kernel/tool/contracts/runner.ts";
import {
  approvalOf,
  approvedRunner,
  decisionOf,
  engineOf,
  type ModelCall,
  StoredApprovals,
} from "./stored-approvals.ts";

/** @ts-ignore: an optional peer. Programs that do not install it compile, also where they check libraries. */
export type LangChainTool = import("@langchain/core/tools").StructuredToolInterface;

export interface LangChainOptions extends OfferOptions {
  /**
   * LangGraph's `interrupt`. A call that a person has to approve is stored then, and interrupts the run with a
   * `LangChainApproval`. When the run continues, the store has the decision: the value of the resumption decides
   * nothing.
   */
  readonly interrupt?: (value: LangChainApproval) => unknown;
}

/** The approval of a stored call, for which a run is interrupted. */
export interface LangChainApproval {
  readonly type: "approval";
  /** Id of the stored call, for `engine.calls.durable.decide`. */
  readonly id: string;
  readonly tool: string;
  readonly arguments: unknown;
  readonly message: string;
  readonly digest: string;
}

/** Maximum number of resumptions of a run before a decision: then the call fails as a waiting one. */
const ASKED_MAX = 100;

interface Config {
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly id?: string };
}

/**
 * The tools of an engine for LangChain: `createAgent({ tools: await toolsForLangChain(engine) })`. The run's abort
 * signal cancels calls. A text output is passed unchanged, content as its texts, any other as JSON. A failed call
 * throws a `ToolCallError`. Rejects with `missing_package` if `@langchain/core` is not installed.
 */
export async function toolsForLangChain(
  runner: ToolRunner,
  { names, modelChars, interrupt, ...options }: LangChainOptions = {},
): Promise<LangChainTool[]> {
  const engine = interrupt === undefined ? null : engineOf(runner);
  const approvals = engine === null ? null : new StoredApprovals(engine, options);
  const tools = approvedRunner(runner, approvals, modelChars === undefined ? {} : { modelChars }, () => false);
  const feature = "toolsForLangChain";
  const { tool: makeTool } = await importOptional(feature, ["@langchain/core"], () => import("@langchain/core/tools"));
  // LangChain writes into schemas.
  return offeredTools(tools, names).map(({ name, description, inputSchema }) =>
    makeTool(
      async (input: unknown, { signal, toolCall: { id } = {} }: Config) => {
        const call = { name, arguments: input as Record<string, unknown>, ...(id === undefined ? {} : { id }) };
        if (interrupt !== undefined && approvals !== null && id !== undefined)
          await interruptWhileOpen({ ...call, id }, approvals, interrupt);
        const called = signal === undefined ? options : { ...options, signal };
        const result = await tools.execute(call, called);
        unwrap(result);
        return resultTexts(result).join("\n\n");
      },
      { name: writeName(name), description, schema: copyJson(objectSchema(inputSchema)) },
    ),
  );
}

/** `interrupt` throws, or returns if the run was resumed: it is repeated as long as there is no decision. */
async function interruptWhileOpen(
  call: ModelCall,
  approvals: StoredApprovals,
  interrupt: NonNullable<LangChainOptions["interrupt"]>,
): Promise<void> {
  if (!(await approvals.isNeeded(call))) return;
  for (let asked = 0; asked < ASKED_MAX; asked++) {
    const stored = await approvals.find(call);
    const wait = stored === undefined ? undefined : approvalOf(stored);
    if (stored === undefined || wait === undefined || decisionOf(stored) !== null) return;
    const { tool, message, digest } = wait;
    interrupt({ type: "approval", id: stored.id, tool: tool ?? call.name, arguments: wait.arguments, message, digest });
  }
}
