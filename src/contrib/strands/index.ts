import "../../kernel/base/check-node.ts";
export {
  run_chain,
  run_workflow,
  type ChainOptions,
  type ChainResult,
  type ChainStep,
  type WorkflowOptions,
  type WorkflowResult,
} from "./run-workflow.ts";
export {
  check_capability,
  type CapabilityIssue,
  type CapabilityReport,
  type NormalizedWorkflow,
  SUPPORTED,
} from "./capability.ts";
export { chatProvider, type ChatOptions } from "./chat-model.ts";
export {
  ArtifactError,
  BudgetError,
  InputError,
  PatternError,
  ProviderError,
  SpecError,
  type SpecProblem,
  TemplateError,
  ToolError,
  TurnLimitError,
  UnsupportedError,
  WorkflowError,
  type WorkflowTrouble,
} from "./errors.ts";
export { load_spec } from "./load-spec.ts";
export {
  type GenerateOptions,
  type ModelAnswer,
  type ModelCall,
  type ModelMessage,
  type ModelProvider,
  type ScriptedProvider,
  type ScriptedTurn,
  scriptedProvider,
} from "./model.ts";
export { type PatternParts, partsOf } from "./pattern-parts.ts";
export { createProvider } from "./providers.ts";
export { getRegistry, type RegistryOptions, type RegistryWarning, type ToolInfo, ToolRegistry } from "./registry.ts";
export { remediationReport } from "./report.ts";
export type { ToolPlace } from "./tool-modules.ts";
export { type NativeBlock, type NativeResult, toolFunction } from "./tool-function.ts";
export type {
  Agent,
  AgentStep,
  Artifact,
  Budgets,
  ChainConfig,
  EvaluatorConfig,
  FailurePolicy,
  GraphConfig,
  GraphEdge,
  HumanStep,
  Inference,
  Inputs,
  InputSpec,
  InputType,
  OrchestratorConfig,
  OtherSection,
  ParallelConfig,
  Pattern,
  RoutingConfig,
  Runtime,
  Step,
  Task,
  TasksConfig,
  ToolEntry,
  Workflow,
} from "./workflow.ts";
export { type ContentBlock } from "../../kernel/base/schema/content-blocks.ts";
export { type StrandsResult, strands, type ToolSpec, type ToolUse } from "./contract/strands.ts";
export { type ReferenceTool, referenceTool } from "../amplifier/reference-tools.ts";
