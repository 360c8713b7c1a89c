import "../kernel/base/check-node.ts";
export type {
  AuditAct,
  AuditDecision,
  AuditEntry,
  AuditRecord,
  AuditSnippet,
  AuditTarget,
} from "../kernel/engine/telemetry/audit.ts";
export type {
  CapabilityCaller as CapabilityCall,
  CapabilityRequest,
} from "../kernel/broker/capabilities/capability.ts";
export type { FetchOptions } from "../kernel/broker/capabilities/fetch/connections.ts";
export type { Lookup } from "../kernel/broker/capabilities/fetch/lookups.ts";
export type { SecretBinding } from "../kernel/broker/capabilities/secrets/binding.ts";
export type { SecretOptions } from "../kernel/broker/capabilities/secrets/secrets.ts";
export { defineCapability } from "../kernel/broker/capabilities/custom.ts";
export type {
  CapabilitiesOf,
  CapabilityClient,
  CapabilityMethod,
  CustomCapability,
  HandlerCall,
} from "../kernel/broker/capabilities/custom-types.ts";
export type { CapabilityEvent, CapabilityOutcome } from "../kernel/broker/capability-event.ts";
export type { Finding } from "../kernel/broker/grants.ts";
export type { Explanation, GrantLine, LimitLine, ToolFinding } from "../kernel/engine/explanation.ts";
export type { ApprovalRule } from "../kernel/broker/approval-rules.ts";
export type { Policy, PolicyRule } from "../kernel/broker/policy.ts";
export type { LastRefusal } from "../kernel/broker/capability-invoker.ts";
export type { RateLimit } from "../kernel/broker/capabilities/rate-limit.ts";
export { ConfigError, loadConfig } from "../server/config/load.ts";
export type { Config } from "../server/config/schema.ts";
export type { Replayed } from "../kernel/engine/replay/replay-recording.ts";
export { readRecording, type RecordedOutcome, type Recording } from "../kernel/engine/replay/recording.ts";
export type { RecordedAnswer, RecordedAsk } from "../kernel/base/protocol/recorded-journal.ts";
export type { PackageOptions } from "../kernel/tool/package/options.ts";
export type { PackageEvent, PackageStepName } from "../kernel/tool/package/step.ts";
export type { CallHistory } from "../kernel/engine/call-history.ts";
export {
  type Decider,
  DecisionConflict,
  type DurableCalls,
  type DurableFilter,
  type DurableOfWhom,
  type EndWait,
  type LinkedCall,
  type UndoneEffect,
  type UndoReport,
  type UndoWait,
} from "../kernel/engine/durable/durable-calls.ts";
export type {
  CallEffect,
  CallRun,
  CallState,
  CallWait,
  Decision,
  DurableCall,
  DurableCallDetail,
  WaitSettlement,
  WaitState,
} from "../kernel/store/calls/durable/durable-call.ts";
export type { Snippet, SnippetAuthor, SnippetDefinition, Snippets } from "../kernel/engine/snippets/snippet.ts";
export type { DurablePage } from "../kernel/store/calls/durable/durable-step.ts";
export type { CallOptions } from "../kernel/engine/call-options.ts";
export type { NotifySecret, NotifyTarget } from "../kernel/engine/durable/notify-options.ts";
export type { RedactValue } from "../kernel/engine/call/redact-detail.ts";
export type { CallDetail, CallFilter, CallPage, CallSummary, StoredCall } from "../kernel/store/calls/call-record.ts";
export type { CallDrop, CallStoreStatus } from "../kernel/store/calls/call-store.ts";
export type { CallsDown, CallsUp } from "../kernel/store/calls/outage-report.ts";
export { createEngine, replayCall } from "../standard/create-engine.ts";
export type { EngineStats } from "../kernel/engine/engine.ts";
export type { ContractAdapter, ModuleFacts, Plugin, PluginContract } from "../kernel/engine/plugin.ts";
export type { RuntimeReader, RuntimeSource, ToolRuntime } from "../kernel/tool/runtimes/runtime.ts";
export type { ExecutorFactory } from "../kernel/executor/executor-factory.ts";
export { sharedEngine } from "../kernel/engine/shared-engine.ts";
export type { ToolRunner } from "../kernel/tool/contracts/runner.ts";
export type { AnyEngine, Engine, Executes, ToolFunction, ToolsOf, TypedEngine } from "../kernel/engine/typed-engine.ts";
export type {
  AnyTools,
  InputOf,
  OutputOf,
  Register,
  RegisteredCapabilities,
  RegisteredTools,
  ToolName,
  ToolTypes,
} from "../kernel/tool/register.ts";
export type { ExecuteOptions } from "../kernel/engine/execute-options.ts";
export {
  type Blame,
  type ErrorCode,
  type ErrorDetails,
  type ErrorEntry,
  ERRORS,
  GloveboxError,
  type ToolError,
} from "../kernel/base/errors.ts";
export type { Remedy } from "../kernel/base/remedy.ts";
export type { Jsonify } from "../kernel/base/jsonify.ts";
export type { FromJsonSchema } from "../kernel/base/schema/from-json-schema.ts";
export type { Schema, SchemaInput, SchemaOutput, StandardSchema } from "../kernel/base/schema/standard-schema.ts";
export type {
  AuditDown,
  AuditDrop,
  CallEvent,
  ConnectorChange,
  RequestFailure,
  RequestRefusal,
  EventMap,
  EventName,
  LateEvent,
  PreEvent,
  Reconfigured,
} from "../kernel/engine/telemetry/events.ts";
export type {
  BegunLogin,
  ConnectorFinding,
  ConnectorStatus,
  FinishedLogin,
  LoginReport,
  LoginStatus,
} from "../kernel/base/connector-report.ts";
export type { ConnectorLoginOptions } from "../kernel/engine/local-engine.ts";
export type {
  AuthorizationCodeClient,
  ClientAuthentication,
  ConnectorAuth,
  OAuthClient,
} from "../connectors/tool/auth-options.ts";
export type { LoginOptions } from "../connectors/engine/options.ts";
export type { ConnectorOptions } from "../connectors/tool/options.ts";
export type { ToolAnnotations } from "../kernel/tool/contracts/contract.ts";
export type { JsonSchema, JsonValue } from "../kernel/base/json.ts";
export { DEFAULT_LIMITS, type Limits, MAX_LIMITS } from "../kernel/base/limits.ts";
export type {
  ExecutorKind,
  ExecutorOptions,
  Recycling,
  SandboxMode,
  SandboxState,
} from "../kernel/executor/executor.ts";
export type { Logger } from "../kernel/engine/telemetry/log.ts";
export type {
  EngineOptions,
  IdempotencyOptions,
  KvOptions,
  QueueOptions,
  ToolSource,
} from "../kernel/engine/options.ts";
export type { Isolation, Runtime } from "../kernel/base/protocol/script.ts";
export type { Throttling } from "../kernel/base/host-work-queue.ts";
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
} from "../kernel/base/result.ts";
export type { HeldBytes, HostUsage } from "../kernel/base/tenant-account.ts";
export type { SchemaRewrite } from "../kernel/tool/contracts/mcp-schema.ts";
export type {
  RetryOn,
  ToolApproval,
  ToolDefinition,
  ToolInfo,
  ToolLocation,
  ToolUndo,
} from "../kernel/tool/definition.ts";
