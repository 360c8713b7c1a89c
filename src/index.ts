export type { AuditDecision, AuditEntry, AuditTarget } from "./audit.ts";
export type { CapabilityCall, CapabilityRequest } from "./capabilities/capability.ts";
export type { FetchOptions, Lookup } from "./capabilities/fetch/connections.ts";
export type { SecretOptions } from "./capabilities/secrets/secrets.ts";
export {
  type CapabilityMethod,
  type CustomCapability,
  defineCapability,
  type HandlerCall,
} from "./capabilities/custom.ts";
export type { CapabilityEvent, CapabilityOutcome } from "./broker/capability-event.ts";
export type { Finding } from "./broker/findings.ts";
export type { Explanation, GrantLine, LimitLine, ToolFinding } from "./explanation.ts";
export type { Policy, PolicyRule } from "./broker/policy.ts";
export type { LastRefusal } from "./broker/last-refusal.ts";
export type { RateLimit } from "./capabilities/rate-limit.ts";
export { ConfigError, loadConfig } from "./config/load.ts";
export type { Config } from "./config/schema.ts";
export { type Replayed, replayCall } from "./replay-call.ts";
export {
  readRecording,
  type RecordedAnswer,
  type RecordedAsk,
  type RecordedOutcome,
  type Recording,
} from "./recording.ts";
export type { PackageOptions } from "./package/options.ts";
export type { PackageEvent, PackageStepName } from "./package/step.ts";
export { createEngine, type Engine } from "./engine.ts";
export type { EngineStats } from "./engine-stats.ts";
export type { ExecuteOptions } from "./execute-options.ts";
export { type Blame, type ErrorCode, type ErrorEntry, ERRORS, GloveboxError, type ToolError } from "./errors.ts";
export type { AuditDrop, CallEvent, DoorRefusal, EventMap, EventName, PreEvent, Reconfigured } from "./events.ts";
export type { ToolAnnotations } from "./contracts/contract.ts";
export type { JsonSchema, JsonValue } from "./json.ts";
export { DEFAULT_LIMITS, type Limits, MAX_LIMITS } from "./limits.ts";
export type { ExecutorKind, ExecutorOptions, Recycling, SandboxMode, SandboxState } from "./executor/executor.ts";
export type { Logger } from "./log.ts";
export type { EngineOptions, IdempotencyOptions, KvOptions, QueueOptions } from "./options.ts";
export type { Isolation, Runtime } from "./protocol/script.ts";
export type { LogLine, Progress, ResultMetadata, ToolCall, ToolResult } from "./result.ts";
export type { RetryOn, ToolDefinition, ToolInfo, ToolLocation } from "./tool/definition.ts";
