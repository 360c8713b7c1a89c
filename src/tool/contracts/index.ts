import "../../base/check-node.ts";
import { aiSdk } from "./ai-sdk.ts";
import { anthropic } from "./anthropic.ts";
import type { Contract, ContractName } from "./contract.ts";
import { gemini } from "./gemini.ts";
import { glovebox } from "./glovebox.ts";
import { mcp } from "./mcp.ts";
import { MODULE_CONTRACTS } from "./modules.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";

export {
  type Contract,
  ContractError,
  type ContractEvent,
  type ContractName,
  type Loss,
  type ModuleContract,
  type Outcome,
  type OutcomeError,
  type ToolAnnotations,
  type ToolDescription,
} from "./contract.ts";
export { aiTools, AiToolFailure, type AiRunnableTool, type AiToolsOptions } from "./ai-tools.ts";
export { type Answers, callTools } from "./call-tools.ts";
export type { ModelAnswer, ModelOptions, ModelRunner, RunOptions, ToolRunner } from "./runner.ts";
export { agentspace } from "./agentspace.ts";
export { amplifier } from "./amplifier.ts";
export { strands } from "./strands.ts";
export { xaibo } from "./xaibo.ts";
export { aiSdk, anthropic, gemini, glovebox, mcp, openaiChat, openaiResponses };

/** Every contract, by name. */
export const CONTRACTS: ReadonlyMap<ContractName, Contract> = new Map<ContractName, Contract>(
  [glovebox, ...Object.values(MODULE_CONTRACTS), openaiChat, openaiResponses, anthropic, gemini, aiSdk, mcp].map(
    (each: Contract) => [each.name, each],
  ),
);
