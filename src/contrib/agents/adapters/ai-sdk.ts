import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { aiSdk } from "../forms/ai-sdk.ts";
import { aiToolsOf } from "../forms/ai-tools.ts";
import { memberOf } from "../../../kernel/base/json.ts";
import type { Engine } from "../../../kernel/engine/engine.ts";
import { findName, type WrittenName } from "../../../kernel/tool/contracts/portable-name.ts";
import type { OfferOptions, RunOptions, ToolRunner } from "../../../kernel/tool/contracts/runner.ts";
import type { InputOf, OutputOf, ToolName } from "../../../kernel/tool/register.ts";
import { approvedRunner, decisionOf, engineOf, type ModelCall, StoredApprovals } from "./stored-approvals.ts";

interface AiSchemaOf<Input> {
  readonly "~standard": StandardSchemaV1.Props<unknown, Input> & StandardJSONSchemaV1.Props<unknown, Input>;
}

/** A tool set of the `ai` package, with the types of the tools. Its keys are the names that models read. */
export type AiTools<Tools> = {
  [Name in ToolName<Tools> as WrittenName<Name>]: {
    description: string;
    inputSchema: AiSchemaOf<InputOf<Tools, Name>>;
    execute(
      input: InputOf<Tools, Name>,
      call: { toolCallId: string; abortSignal?: AbortSignal | undefined },
    ): Promise<OutputOf<Tools, Name>>;
    /** Whether a person has to decide about the call: then it is stored. */
    needsApproval(
      input: InputOf<Tools, Name>,
      call: { toolCallId: string; messages: readonly unknown[] },
    ): Promise<boolean>;
  };
};

/** A part of a tool message with the decision about a call. */
export interface AiApprovalResponse {
  type: "tool-approval-response";
  approvalId: string;
  approved: boolean;
  reason?: string;
}

/**
 * The tools of an engine as a tool set of the `ai` package: `generateText({ tools: toolsForAISDK(engine) })`. The
 * package's abort signal cancels calls. A failed call throws an `AiToolFailure`, which the package shows to the model.
 * The model reads long outputs in parts, with `read_output`; `execute` returns them whole. A call that a person has to
 * approve is stored, and the package requests an approval: `approvalsForAISDK` has the answer after the decision.
 */
export function toolsForAISDK<Tools>(
  runner: ToolRunner<Tools>,
  { modelChars, ...options }: OfferOptions<ToolName<Tools>> = {},
): AiTools<Tools> {
  const engine = engineOf(runner);
  const approvals = engine === null ? null : new StoredApprovals(engine, options);
  // The package requests the approval of each call in the same process before it makes the call.
  const tools = approvedRunner(runner, approvals, modelChars === undefined ? {} : { modelChars }, () => false);
  const set = Object.entries(aiToolsOf(tools, options)).map(([written, tool]) => {
    const needsApproval = async (
      input: unknown,
      { toolCallId, messages }: { toolCallId: string; messages: readonly unknown[] },
    ): Promise<boolean> => {
      if (approvals === null) return false;
      const call = readCall(tools, { toolCallId, toolName: written, input });
      const isAnswer = partsOf(messages, "tool-approval-request").some((part) => part["toolCallId"] === toolCallId);
      return (isAnswer && (await approvals.find(call)) !== undefined) || approvals.request(call);
    };
    return [written, { ...tool, needsApproval }] as const;
  });
  // The schemas define at run time the types that `Tools` defines at compile time.
  return Object.fromEntries(set) as unknown as AiTools<Tools>;
}

/**
 * Answers to all approvals that a conversation of the `ai` package requests, from the engine's store: the content of
 * the tool message that continues it. `null` while one of them is undecided. The texts in `messages` decide nothing.
 */
export async function approvalsForAISDK(
  engine: Engine,
  messages: readonly unknown[],
  options: Pick<RunOptions, "tenant"> = {},
): Promise<AiApprovalResponse[] | null> {
  const approvals = new StoredApprovals(engine, options);
  const answered = new Set(partsOf(messages, "tool-approval-response").map((part) => part["approvalId"]));
  const calls = new Map(partsOf(messages, "tool-call").map((part) => [part["toolCallId"], part]));
  const responses: AiApprovalResponse[] = [];
  for (const { approvalId, toolCallId } of partsOf(messages, "tool-approval-request")) {
    const part = calls.get(toolCallId);
    if (typeof approvalId !== "string" || part === undefined || answered.has(approvalId)) continue;
    const stored = await approvals.find(readCall(engine, part));
    // It is for a tool outside the engine.
    if (stored === undefined) continue;
    const decision = decisionOf(stored);
    if (decision === null) return null;
    responses.push({ type: "tool-approval-response", approvalId, ...decision });
  }
  return responses;
}

function readCall(tools: ToolRunner, part: Readonly<Record<string, unknown>>): ModelCall {
  const { toolCallId, toolName, input } = part;
  const { id = "", ...call } = aiSdk.readCall({ type: "tool-call", toolCallId, toolName, input });
  return { ...call, id, name: findName(tools, call.name) };
}

/** Parts of a type in all messages, which a client may have written. */
function partsOf(messages: readonly unknown[], type: string): readonly Readonly<Record<string, unknown>>[] {
  return messages.flatMap((message) => {
    const content = memberOf(message, "content");
    return Array.isArray(content) ? content.filter((part) => memberOf(part, "type") === type) : [];
  });
}
