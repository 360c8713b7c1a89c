import "../../kernel/base/check-node.ts";
export {
  amplifier,
  AMPLIFIER_CONTRACT,
  type AmplifierCall,
  type AmplifierDefinition,
  type AmplifierError,
  type AmplifierEvent,
  type AmplifierResult,
  serializedOutput,
  toolResult,
} from "./contract/amplifier.ts";
export { type AmplifierTool, getInputSchema, isTool } from "./contract/tool.ts";
export {
  type ContextInjection,
  type Hook,
  type HookEvent,
  type HookEventName,
  type HookOptions,
  type HookResult,
  Hooks,
  type HooksOptions,
} from "./hooks.ts";
export { type GitSource, ModuleSourceError, type SourceOptions } from "./module-source.ts";
export { type MountedModule, type MountOptions, mountPlan } from "./mount.ts";
export {
  type MountPlan,
  type MountPlanEntry,
  MountPlanError,
  parseMountPlan,
  type PlanProblem,
  validateMountPlan,
} from "./mount-plan.ts";
export { ToolResult } from "./tool-result.ts";
export { type ReferenceTool, referenceTool } from "./reference-tools.ts";
