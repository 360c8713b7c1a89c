import "../kernel/base/check-node.ts";
import { aiSdk } from "../contrib/agents/forms/ai-sdk.ts";
import { anthropic } from "../contrib/agents/forms/anthropic.ts";
import { agentspace } from "../contrib/agentspace/contract/agentspace.ts";
import { amplifier } from "../contrib/amplifier/contract/amplifier.ts";
import type { Contract } from "../kernel/tool/contracts/contract.ts";
import { gemini } from "../contrib/agents/forms/gemini.ts";
import { glovebox } from "../kernel/tool/contracts/glovebox.ts";
import { mcp } from "../kernel/tool/contracts/mcp.ts";
import { openaiChat } from "../contrib/agents/forms/openai-chat.ts";
import { openaiResponses } from "../contrib/agents/forms/openai-responses.ts";
import { strands } from "../contrib/strands/contract/strands.ts";
import { xaibo } from "../contrib/xaibo/contract/xaibo.ts";

export {
  type Contract,
  ContractError,
  type ContractEvent,
  type Loss,
  type ModuleContract,
  type ModuleReader,
  type Outcome,
  type OutcomeError,
  type RecordReader,
  type ToolAnnotations,
  type ToolDescription,
} from "../kernel/tool/contracts/contract.ts";
export { aiTools, AiToolFailure, type AiRunnableTool, type AiToolsOptions } from "../contrib/agents/forms/ai-tools.ts";
export { type Answers, callTools } from "../contrib/agents/forms/call-tools.ts";
export type {
  ModelAnswer,
  ModelOptions,
  ModelRunner,
  RunOptions,
  ToolRunner,
} from "../kernel/tool/contracts/runner.ts";
export { agentspace, aiSdk, amplifier, anthropic, gemini, glovebox, mcp, openaiChat, openaiResponses, strands, xaibo };

const BY_NAME = {
  glovebox,
  amplifier,
  agentspace,
  strands,
  xaibo,
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  gemini,
  "ai-sdk": aiSdk,
  mcp,
};

/** The contracts of this package. Modules may be written in the first five. */
export type ContractName = keyof typeof BY_NAME;

/** Every contract, by name. */
export const CONTRACTS = new Map(Object.entries(BY_NAME)) as ReadonlyMap<
  ContractName,
  Contract & { readonly name: ContractName }
>;
