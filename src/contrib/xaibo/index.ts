import "../../kernel/base/check-node.ts";
export type {
  ParameterType,
  ToolParameter,
  ToolParameters,
  XaiboCall,
  XaiboResult,
  XaiboTool,
} from "./contract/xaibo.ts";
export { type Agent, type AgentModule, type AgentOptions, loadAgent } from "./agent.ts";
export { AgentError } from "./agent-config.ts";
export { combineProviders, ToolNameClashError } from "./combine.ts";
export { type Conversation, ConversationError, type ConversationOptions, runConversation } from "./conversation.ts";
export { type EngineProviderOptions, toolProvider } from "./engine-provider.ts";
export {
  ToolError,
  type ToolErrorOptions,
  ToolExecutionError,
  ToolNotFoundError,
  ToolParameterError,
} from "./errors.ts";
export { guardedProvider, type ProviderParts } from "./guarded-provider.ts";
export { type LintFinding, lintTools } from "./lint.ts";
export { type LLM, type LLMFunctionCall, LLMMessage, type LLMOptions, type LLMResponse } from "./llm.ts";
export { type OneShotOptions, oneShotTools } from "./one-shot.ts";
export { modelLLM } from "./model-llm.ts";
export { type CallContext, isToolProvider, type ToolProviderProtocol } from "./protocol.ts";
export { type ProvidedTools, providerTools, type ProviderToolsOptions } from "./provider-tools.ts";
