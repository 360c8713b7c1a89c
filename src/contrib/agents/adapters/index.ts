import "../../../kernel/base/check-node.ts";

export { type AiApprovalResponse, type AiTools, approvalsForAISDK, toolsForAISDK } from "./ai-sdk.ts";
export {
  type CodemodeConnector,
  type CodemodeExecutor,
  type CodemodeFunctions,
  type CodemodeProvider,
  type CodemodeResult,
  createCodemodeExecutor,
} from "./codemode-executor.ts";
export {
  createIsolateDriver,
  type IsolateBinding,
  type IsolateConfig,
  type IsolateContext,
  type IsolateDriver,
  type IsolateDriverOptions,
  type IsolateResult,
} from "./isolate-driver.ts";
export { type LangChainApproval, type LangChainOptions, type LangChainTool, toolsForLangChain } from "./langchain.ts";
export type { OfferOptions } from "../../../kernel/tool/contracts/runner.ts";
export {
  approvalsForOpenAIAgents,
  type OpenAiAgentCall,
  type OpenAiAgentInterruption,
  type OpenAiAgentOutput,
  type OpenAiAgentParameters,
  type OpenAiAgentState,
  type OpenAiAgentTool,
  toolsForOpenAIAgents,
} from "./openai-agents.ts";
