/** Types of the server's responses, limited to the fields that this page reads. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

export interface Schema {
  readonly [keyword: string]: Json | undefined;
}

export interface ToolInfo {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly tags: readonly string[];
  /** Digest of its version. */
  readonly digest?: string;
  readonly annotations?: Readonly<Partial<Record<"readOnly" | "destructive" | "idempotent" | "openWorld", boolean>>>;
  readonly inputSchema: Schema;
  readonly outputSchema: Schema | null;
  readonly inferredOutputSchema?: Schema;
  /** Its tenant; absent if it belongs to all tenants. */
  readonly tenant?: string;
  readonly contract: string;
  readonly isolation: string;
  readonly isolationReason?: string;
  readonly parsesReason?: string;
  readonly wholeReason?: string;
  readonly examples?: readonly { readonly input: unknown }[];
  readonly node?: readonly { readonly name: string; readonly instead?: string }[];
  readonly retries: number;
  readonly script: { readonly bytes: number; readonly evaluationMs: number };
}

/** A program that is a tool. */
export interface Snippet {
  readonly name: string;
  /** The reason why it cannot be called. */
  readonly unusable: string | null;
}

/** Author and time of the registration of a registry's record. */
export interface Registration {
  readonly registered_by: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly revision: number;
}

export interface RecordSummary {
  readonly tool_id: string;
  readonly description: string;
  readonly version?: string;
  readonly tool_tags: readonly string[];
  readonly registration: Registration;
}

export interface RecordPage {
  readonly tools: readonly RecordSummary[];
  readonly next?: string;
}

export interface RegisteredRecord {
  readonly tool_id: string;
  readonly tool_metadata?: { readonly version?: string; readonly description?: string };
  readonly tool_search_description?: string;
  readonly tool_tags?: readonly string[];
  readonly tool_runtime_type: string;
  readonly registration: Registration;
}

export interface RecordVersion {
  readonly revision: number;
  readonly version?: string;
  readonly registered_by: string;
  readonly registered_at: string;
  readonly in_force: boolean;
}

export interface Explanation {
  readonly tool: string;
  readonly tenant: string;
  readonly grants: readonly {
    readonly capability: string;
    readonly granted: string;
    readonly from: string;
  }[];
  readonly limits: readonly { readonly limit: string; readonly value: number; readonly from: string }[];
  readonly processorTime: "measured" | "estimated";
  /** Only of `run_code`. */
  readonly program?: ProgramExplanation;
  readonly findings: readonly { readonly pointer: string; readonly reason: string; readonly remediation: string }[];
}

/** The tools of all programs of a caller. */
export interface ProgramExplanation {
  readonly callable: number;
  readonly total: number;
  readonly tools: readonly {
    readonly tool: string;
    readonly isCallable: boolean;
    readonly from: readonly string[];
    readonly reason?: string;
  }[];
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface CapabilityCall {
  readonly capability: string;
  readonly method: string;
  readonly outcome: string;
  readonly durationMs: number;
  readonly step: number;
}

/** A program's call of a tool. */
export interface ProgramCall {
  readonly tool: string;
  readonly code: string;
  readonly startMs: number;
  readonly wallMs: number;
  readonly callId?: string;
  readonly line?: number;
  readonly column?: number;
}

export interface ProgramProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export interface Declarations {
  readonly text: string;
  readonly declared: readonly string[];
  readonly total: number;
}

/** Texts to paste, so that a failed call succeeds. */
export interface Remedy {
  readonly kind: string;
  readonly pointer?: string;
  readonly yaml?: string;
  readonly ts?: string;
  readonly command?: string;
}

export interface ToolError {
  readonly code: string;
  readonly type: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: unknown;
  readonly remedies?: readonly Remedy[];
}

export interface ToolResult {
  readonly success: boolean;
  readonly output: unknown;
  readonly error: ToolError | null;
  readonly metadata: {
    readonly callId: string;
    readonly queueMs: number;
    readonly wallMs: number;
    readonly cpuMs: number;
    readonly heapBytes: number;
    readonly attempts: number;
    readonly logs: readonly LogLine[];
    readonly calls?: readonly ProgramCall[];
    readonly truncated?: { readonly output?: number; readonly logs?: number };
  };
}

/** A connector of the engine. */
export interface Connector {
  readonly name: string;
  readonly login: {
    readonly auth: string;
    readonly state: string;
    readonly reason: string | null;
    readonly tenants: readonly string[];
  } | null;
}

/** State of the server's worker machines. */
export interface Fleet {
  readonly machines: number;
  readonly slots: number;
  readonly busySlots: number;
  readonly waitingJobs: number;
  readonly problem: string | null;
  readonly seen: readonly {
    readonly id: string;
    readonly host: string | null;
    readonly state: string;
    readonly slots: number;
    readonly busySlots: number;
    readonly protocols: readonly number[];
    readonly isSandboxed: boolean;
    readonly silentMs: number;
  }[];
  readonly unlisted: number;
  readonly unreadable: number;
}

export interface Stats {
  readonly time: string;
  readonly uptimeMs: number;
  readonly state: string;
  readonly calls: {
    readonly perSecond: number;
    readonly errorsPerSecond: number;
    readonly p50Ms: number | null;
    readonly p95Ms: number | null;
    readonly p99Ms: number | null;
  };
  readonly queued: number;
  readonly running: number;
  readonly executor: {
    readonly kind: string;
    readonly ready: boolean;
    readonly problem: string | null;
    readonly spareReady: boolean;
    readonly rssBytes: number;
    readonly sandbox: { readonly kind: string; readonly reason?: string };
    readonly fleet?: Fleet;
  };
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  readonly restarts: number;
  readonly quarantined: readonly string[];
  readonly needLogin: readonly string[];
  /** Problems that an operator has to solve, although calls run. */
  readonly problems: readonly string[];
  readonly tools: readonly {
    readonly name: string;
    readonly callsPerSecond: number;
    readonly errorsPerSecond: number;
    readonly cpuMsPerSecond: number;
    readonly p99Ms: number | null;
  }[];
  readonly http: { readonly connections: number; readonly streams: number };
}

/** A kept call without its values. Times in milliseconds. */
export interface CallSummary {
  readonly id: string;
  readonly tool: string;
  readonly version: string | null;
  readonly tenant: string;
  readonly parentId: string | null;
  readonly surface: string;
  readonly key: string | null;
  readonly code: string;
  readonly error: string | null;
  readonly beginMs: number;
  readonly queueMs: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly bytes: number;
  readonly attempts: number;
  readonly sampled: number;
}

export interface CallPage {
  readonly calls: readonly CallSummary[];
  readonly cursor: string | null;
}

/** A request of a kept call to the host. Times in milliseconds since the call was accepted. */
export interface StoredAsk {
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  readonly target: string | null;
  /** Calls of older servers have none. */
  readonly httpMethod?: string | null;
  readonly outcome: string;
  readonly code: string | null;
  readonly rule: string | null;
  readonly atMs: number;
  readonly durationMs: number;
  readonly bytes: number;
  readonly attempt: number;
  readonly isReplayed: boolean;
}

export interface StoredTurn {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly attempt: number;
}

export interface StoredCall extends CallSummary {
  /** `null` if it is not kept. */
  readonly detail: {
    readonly arguments: unknown;
    readonly output: unknown;
    readonly error: ToolError | null;
    readonly logs: readonly LogLine[];
    readonly asks: readonly StoredAsk[];
    readonly asksOmitted: number;
    readonly turns: readonly StoredTurn[];
    readonly explanation: unknown;
    readonly isReplayable: boolean;
    readonly omitted: readonly string[];
  } | null;
}

/** A place in which two calls differ. */
export interface Difference {
  readonly pointer: string;
  readonly left?: unknown;
  readonly right?: unknown;
}

export interface Comparison {
  readonly isSame: boolean;
  readonly differences: readonly Difference[];
}

export interface Replay {
  readonly verdict: string;
  readonly differences: readonly Difference[];
  readonly result: ToolResult;
}

/** A mistake of a policy, or a request that it does not grant. */
export interface Finding {
  readonly tool: string | null;
  readonly pointer: string;
  readonly reason: string;
  readonly remediation: string;
  readonly line?: number;
  readonly column?: number;
}

/** A request of a past call to the host, as a policy would answer it. */
export interface SimulatedAsk {
  readonly capability: string;
  readonly method: string;
  readonly target: string | null;
  readonly outcome: string;
  readonly rule: string | null;
}

/** A request that a policy would answer otherwise. */
export interface PolicyChange {
  readonly id: string;
  readonly tool: string;
  readonly tenant: string;
  readonly capability: string;
  readonly target: string | null;
  readonly was: string;
  readonly would: string;
  readonly rule: string | null;
}

/** The effect of a policy. */
export interface Simulation {
  readonly findings: readonly Finding[];
  readonly grants: Explanation["grants"];
  readonly asks: readonly SimulatedAsk[];
  readonly changes: readonly PolicyChange[];
}

/** Whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of a value, or none. */
export function recordOf<Value = unknown>(value: unknown): Readonly<Record<string, Value>> {
  return isRecord(value) ? (value as Readonly<Record<string, Value>>) : {};
}

/** The elements of a value, or none. */
export function listOf<Value = unknown>(value: unknown): readonly Value[] {
  return Array.isArray(value) ? (value as readonly Value[]) : [];
}

/** The name encoded in a segment of a JSON pointer. */
export function nameOfSegment(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}
