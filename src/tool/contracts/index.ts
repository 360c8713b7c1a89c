import "../../base/check-node.ts";
import { aiSdk } from "./ai-sdk.ts";
import { anthropic } from "./anthropic.ts";
import { agentspace } from "./agentspace.ts";
import { amplifier } from "./amplifier.ts";
import type { Contract } from "./contract.ts";
import { gemini } from "./gemini.ts";
import { glovebox } from "./glovebox.ts";
import { mcp } from "./mcp.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { strands } from "./strands.ts";
import { xaibo } from "./xaibo.ts";

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
} from "./contract.ts";
export { aiTools, AiToolFailure, type AiRunnableTool, type AiToolsOptions } from "./ai-tools.ts";
export { type Answers, callTools } from "./call-tools.ts";
export type { ModelAnswer, ModelOptions, ModelRunner, RunOptions, ToolRunner } from "./runner.ts";
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
