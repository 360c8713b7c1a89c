import "./base/check-node.ts";
export type { AuditDecision, AuditEntry, AuditTarget } from "./engine/telemetry/audit.ts";
export type { CapabilityCaller as CapabilityCall, CapabilityRequest } from "./broker/capabilities/capability.ts";
export type { FetchOptions, Lookup } from "./broker/capabilities/fetch/connections.ts";
export type { SecretBinding } from "./broker/capabilities/secrets/binding.ts";
export type { SecretOptions } from "./broker/capabilities/secrets/secrets.ts";
export { defineCapability } from "./broker/capabilities/custom.ts";
export type {
  CapabilitiesOf,
  CapabilityClient,
  CapabilityMethod,
  CustomCapability,
  HandlerCall,
} from "./broker/capabilities/custom-types.ts";
export type { CapabilityEvent, CapabilityOutcome } from "./broker/capability-event.ts";
export type { Finding } from "./broker/grants.ts";
export type { Explanation, GrantLine, LimitLine, ToolFinding } from "./engine/explanation.ts";
export type { ApprovalRule } from "./broker/approval-rules.ts";
export type { Policy, PolicyRule } from "./broker/policy.ts";
export type { LastRefusal } from "./broker/capability-invoker.ts";
export type { RateLimit } from "./broker/capabilities/rate-limit.ts";
export { ConfigError, loadConfig } from "./service/config/load.ts";
export type { Config } from "./service/config/schema.ts";
export type { Replayed } from "./engine/replay/replay-recording.ts";
export { readRecording, type RecordedOutcome, type Recording } from "./engine/replay/recording.ts";
export type { RecordedAnswer, RecordedAsk } from "./broker/journal.ts";
export type { PackageOptions } from "./tool/package/options.ts";
export type { PackageEvent, PackageStepName } from "./tool/package/step.ts";
export type { CallHistory } from "./engine/call-history.ts";
export {
  type Decider,
  DecisionConflict,
  type DurableCalls,
  type DurableFilter,
  type DurableOfWhom,
} from "./engine/durable/durable-calls.ts";
export type {
  CallState,
  CallWait,
  Decision,
  DurableCall,
  DurablePage,
  WaitSettlement,
  WaitState,
} from "./store/calls/durable/durable-call.ts";
export type { CallOptions } from "./engine/call-options.ts";
export type { RedactValue } from "./engine/call/redact-detail.ts";
export type { CallDetail, CallFilter, CallPage, CallSummary, StoredCall } from "./store/calls/call-record.ts";
export type { CallDrop, CallStoreStatus } from "./store/calls/call-store.ts";
export { createEngine, replayCall } from "./ecosystems/create-engine.ts";
export type { EngineStats } from "./engine/engine.ts";
export type { ContractAdapter, ModuleFacts, Plugin, PluginContract } from "./engine/plugin.ts";
export type { RuntimeReader, RuntimeSource, ToolRuntime } from "./tool/runtimes/runtime.ts";
export type { ExecutorFactory } from "./executor/executor-factory.ts";
export { sharedEngine } from "./engine/shared-engine.ts";
export type { ToolRunner } from "./tool/contracts/runner.ts";
export type { AnyEngine, Engine, Executes, ToolFunction, ToolsOf, TypedEngine } from "./engine/typed-engine.ts";
export type {
  AnyTools,
  InputOf,
  OutputOf,
  Register,
  RegisteredCapabilities,
  RegisteredTools,
  ToolName,
  ToolTypes,
} from "./tool/register.ts";
export type { ExecuteOptions } from "./engine/execute-options.ts";
export {
  type Blame,
  type ErrorCode,
  type ErrorDetails,
  type ErrorEntry,
  ERRORS,
  GloveboxError,
  type ToolError,
} from "./base/errors.ts";
export type { Remedy } from "./base/remedy.ts";
export type { Jsonify } from "./base/jsonify.ts";
export type { FromJsonSchema } from "./base/schema/from-json-schema.ts";
export type { Schema, SchemaInput, SchemaOutput, StandardSchema } from "./base/schema/standard-schema.ts";
export type {
  AuditDrop,
  CallEvent,
  ConnectorChange,
  RequestRefusal,
  EventMap,
  EventName,
  LateEvent,
  PreEvent,
  Reconfigured,
} from "./engine/telemetry/events.ts";
export type {
  BegunLogin,
  ConnectorFinding,
  ConnectorStatus,
  FinishedLogin,
  LoginReport,
  LoginStatus,
} from "./base/connector-report.ts";
export type { ConnectorLoginOptions } from "./engine/local-engine.ts";
export type {
  AuthorizationCodeClient,
  ClientAuthentication,
  ConnectorAuth,
  OAuthClient,
} from "./tool/connectors/auth-options.ts";
export type { LoginOptions } from "./engine/connectors/options.ts";
export type { ConnectorOptions } from "./tool/connectors/options.ts";
export type { ToolAnnotations } from "./tool/contracts/contract.ts";
export type { JsonSchema, JsonValue } from "./base/json.ts";
export { DEFAULT_LIMITS, type Limits, MAX_LIMITS } from "./base/limits.ts";
export type { ExecutorKind, ExecutorOptions, Recycling, SandboxMode, SandboxState } from "./executor/executor.ts";
export type { Logger } from "./engine/telemetry/log.ts";
export type { EngineOptions, IdempotencyOptions, KvOptions, QueueOptions, ToolSource } from "./engine/options.ts";
export type { Isolation, Runtime } from "./base/protocol/script.ts";
export type { Throttling } from "./base/host-work-queue.ts";
export {
  type HostUse,
  type LogLine,
  type Progress,
  type ResultMetadata,
  type ToolCall,
  ToolCallError,
  type ToolFailure,
  type ToolResult,
  type ToolSuccess,
  unwrap,
} from "./base/result.ts";
export type { HeldBytes, HostUsage } from "./base/tenant-account.ts";
export type { SchemaRewrite } from "./tool/contracts/mcp-schema.ts";
export type { RetryOn, ToolApproval, ToolDefinition, ToolInfo, ToolLocation } from "./tool/definition.ts";
