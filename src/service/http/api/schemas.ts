import { ERRORS } from "../../../base/errors.ts";
import { NAMES } from "../../../base/limits.ts";
import { DEFINITION } from "../../../tool/definition.ts";

/** A schema of the API: an object, so that the API's description can tell which one it is. */
export type ApiSchema = Readonly<Record<string, unknown>>;

/** Only what is known to be there, so that nothing more is ever told by mistake. */
const exactly = (properties: ApiSchema, optional: readonly string[] = []): ApiSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});
const text = (description: string): ApiSchema => ({ type: "string", description });
const number = (description: string): ApiSchema => ({ type: "number", description });
const orNull = (schema: ApiSchema): ApiSchema => ({ anyOf: [schema, { type: "null" }] });
const listOf = (items: ApiSchema): ApiSchema => ({ type: "array", items });
const limitsOf = (limit: ApiSchema): ApiSchema => Object.fromEntries(NAMES.map((name) => [name, limit]));

const QUANTILES = {
  p50Ms: orNull({ type: "number" }),
  p95Ms: orNull({ type: "number" }),
  p99Ms: orNull({ type: "number" }),
};

const CALL_LIMITS = {
  type: "object",
  description: "Limits of this call, within the server's ceiling. `memoryMb` is the tool's: a call cannot change it.",
  properties: limitsOf({ type: "number", exclusiveMinimum: 0 }),
  additionalProperties: false,
};

/** Options that may be those of all calls of a batch. */
const COMMON_OPTIONS = {
  tenant: { type: "string", maxLength: 256, description: "Whose call it is, where the key does not say so." },
  priority: { type: "number", description: "-10 to 10; higher goes first. Default 0." },
  limits: CALL_LIMITS,
  capabilities: { type: "object", description: "Narrows what the tool is granted." },
  retries: { type: "integer", minimum: 0, maximum: 5, description: "How often a call that failed is tried again." },
};

const CALL_OPTIONS = {
  type: ["object", "null"],
  properties: {
    ...COMMON_OPTIONS,
    idempotencyKey: {
      type: "string",
      minLength: 1,
      maxLength: 256,
      description: "Calls of one tenant to one tool with the same key are one call, and have the same result.",
    },
  },
  additionalProperties: false,
};

const BATCH_OPTIONS = { type: ["object", "null"], properties: COMMON_OPTIONS, additionalProperties: false };

const TOOL_CALL = {
  type: "object",
  properties: {
    id: {
      type: ["string", "null"],
      minLength: 1,
      maxLength: 256,
      description: "The caller's own; made where missing.",
    },
    name: text("The tool."),
    arguments: { type: ["object", "null"], description: "What the tool's inputSchema asks for." },
    command: { type: "string", minLength: 1, maxLength: 256, description: "An operation beside the tool's main one." },
    options: CALL_OPTIONS,
  },
  required: ["name"],
};

const LOG_LINE = exactly({ level: text("`debug`, `log`, `info`, `warn` or `error`."), message: text("The line.") });

const TOOL_ERROR = exactly(
  {
    code: { enum: Object.keys(ERRORS), description: "Why it failed." },
    type: text("The class name of what the tool threw, or of the server's own error."),
    message: text("What happened."),
    retryable: { type: "boolean", description: "Whether the same call may succeed later." },
    details: { description: "More of it, for some codes: violations, for example, or `retryAfterMs`." },
  },
  ["details"],
);

const METADATA = {
  type: "object",
  description: "What the call cost, and how it went. Tools may add to it.",
  properties: {
    callId: text("The call's id."),
    tool: text("The tool."),
    queueMs: number("Milliseconds that it waited."),
    wallMs: number("Milliseconds from start to end."),
    cpuMs: number("Milliseconds of processor time."),
    heapBytes: number("Heap of the tool's isolate."),
    attempts: { type: "integer", description: "How often it was started; 0 where it never was." },
    logs: listOf(LOG_LINE),
    truncated: {
      type: "object",
      properties: { output: { type: "integer" }, logs: { type: "integer" } },
      description: "What was cut off.",
    },
  },
  required: ["callId", "tool", "queueMs", "wallMs", "cpuMs", "heapBytes", "attempts", "logs"],
};

const TOOL_RESULT = exactly({
  success: { type: "boolean" },
  output: { description: "What the tool answered; null where it failed." },
  error: orNull(TOOL_ERROR),
  metadata: METADATA,
});

const SCHEMA_OF_A_TOOL = { type: ["object", "boolean"], description: "A JSON Schema." };

const TOOL_INFO = exactly(
  {
    name: text("Its name."),
    description: text("What it does."),
    version: text("Its version."),
    tags: listOf({ type: "string" }),
    inputSchema: SCHEMA_OF_A_TOOL,
    outputSchema: { type: ["object", "boolean", "null"], description: "A JSON Schema." },
    runtime: text("What runs it."),
    contract: text("The contract in which its module is written."),
    annotations: DEFINITION.properties.annotations,
    retries: { type: "integer" },
    isolation: text("What is new for each call."),
    isolationReason: text("Why it is not the level that was asked for."),
    limits: { type: "object", properties: limitsOf({ type: "number" }), required: NAMES, additionalProperties: false },
    capabilities: { type: "object", description: "What it asks for." },
    script: exactly({ bytes: { type: "integer" }, evaluationMs: { type: "number" } }),
  },
  ["isolationReason"],
);

const { entry: _entry, ...definedByClients } = DEFINITION.properties;
/** A definition as a client may send it: it names no files, as they would be the server's. */
const TOOL_DEFINITION = {
  ...DEFINITION,
  properties: {
    ...definedByClients,
    source: { ...DEFINITION.properties.source, description: "The module's text." },
    config: { description: "Any JSON: the tool finds it in its context." },
  },
  required: [...DEFINITION.required, "source"],
};

const INDEX = { type: "integer", minimum: 0, description: "The place of the call in its batch, from 0." };
const PROGRESS = exactly(
  { progress: { type: "number" }, total: { type: "number" }, message: { type: "string" }, index: INDEX },
  ["total", "message", "index"],
);
const CAPABILITY_CALL = exactly(
  {
    capability: text("What the tool asked for."),
    method: text("And which of its methods."),
    outcome: { enum: ["ok", "denied", "failed", "limit", "replayed", "diverged"] },
    durationMs: { type: "number" },
    step: { type: "integer", description: "Counts what the call asks for, from 1." },
    index: INDEX,
  },
  ["index"],
);

const MACHINE = exactly({
  id: text("Its own."),
  host: orNull(text("The name of its system.")),
  state: { enum: ["ready", "draining", "unready", "other protocol"] },
  slots: number("Jobs that it may have at once."),
  busySlots: number("Those with a job."),
  protocols: listOf({ type: "integer" }),
  isSandboxed: { type: "boolean" },
  silentMs: number("Since it last said something, which it does every second."),
});
const FLEET = exactly({
  machines: number("Worker machines that accept calls of this server."),
  slots: number("Jobs that they may have at once."),
  busySlots: number("Those with a job."),
  waitingJobs: number("Calls of this server that no worker machine has taken yet."),
  isRedisUp: { type: "boolean" },
  problem: orNull(text("Why no calls run, and what to do.")),
  seen: { ...listOf(MACHINE), maxItems: 100, description: "Machines that were heard of lately." },
  unlisted: number("Others of them."),
  unreadable: number("Machines with another secret."),
});

/** The schemas of the API, by the names that they have in its description. */
export const SCHEMAS = {
  ToolCall: TOOL_CALL,
  CallOptions: CALL_OPTIONS,
  BatchOptions: BATCH_OPTIONS,
  ToolResult: TOOL_RESULT,
  ToolError: TOOL_ERROR,
  ResultMetadata: METADATA,
  LogLine: LOG_LINE,
  Batch: {
    type: "object",
    properties: { calls: { ...listOf(TOOL_CALL), minItems: 1 }, options: BATCH_OPTIONS },
    required: ["calls"],
    additionalProperties: false,
  },
  BatchResults: exactly({ results: listOf(TOOL_RESULT) }),
  LogEvent: exactly({ level: { type: "string" }, message: { type: "string" }, index: INDEX }, ["index"]),
  ProgressEvent: PROGRESS,
  CapabilityEvent: CAPABILITY_CALL,
  DroppedEvent: exactly({ events: { type: "integer", minimum: 1 } }),
  BatchResultEvent: exactly({ index: INDEX, result: TOOL_RESULT }),
  ToolInfo: TOOL_INFO,
  ToolDefinition: TOOL_DEFINITION,
  Asset: exactly({
    url: text("Where it is given out."),
    asset_name: text("Its name."),
    asset_version: text("Its version."),
    bytes: { type: "integer" },
    sha256: text("In hexadecimal."),
  }),
  AssetError: exactly({
    error: exactly({ code: text("Why."), message: text("What to mend."), pointer: text("Where.") }, ["pointer"]),
  }),
  PlainError: exactly({ error: text("What happened.") }),
  Explanation: exactly({
    tool: text("The tool's name."),
    tenant: text("For whose calls; empty for those of nobody in particular."),
    isolation: text("What each call has of its own."),
    grants: listOf(exactly({ capability: text("Its name."), granted: text("In words."), from: text("The rule.") })),
    limits: listOf(
      exactly({
        limit: { enum: NAMES },
        value: number("In the limit's own unit."),
        from: { enum: ["default", "limits", "tool", "maxLimits"] },
      }),
    ),
    findings: listOf(
      exactly({ pointer: text("Where."), reason: text("What is wrong."), remediation: text("What to change.") }),
    ),
  }),
  Stats: exactly({
    time: text("ISO 8601."),
    uptimeMs: number("Since the server began to listen."),
    state: { enum: ["open", "draining", "closed"] },
    calls: exactly({ perSecond: number("Calls that ended."), errorsPerSecond: number("With an error."), ...QUANTILES }),
    queued: number("Calls waiting in the queue."),
    running: number("Calls running."),
    executor: exactly(
      {
        kind: text("`process`, `threads` or `queue`."),
        ready: { type: "boolean" },
        spareReady: { type: "boolean" },
        rssBytes: number("Resident memory of all executors."),
        sandbox: { type: "object", description: "The operating system's walls, or why there are none." },
        fleet: FLEET,
      },
      ["fleet"],
    ),
    isolates: exactly({
      active: number("With calls."),
      warm: number("With a tool, and no calls."),
      blank: number("Without a tool."),
    }),
    restarts: number("Executors that were lost or made room."),
    quarantined: listOf(text("A tool that runs apart.")),
    tools: {
      type: "array",
      maxItems: 50,
      items: exactly({
        name: text("The tool's name."),
        callsPerSecond: number("Calls that ended."),
        errorsPerSecond: number("With an error."),
        cpuMsPerSecond: number("1,000 is one processor."),
        p99Ms: orNull({ type: "number" }),
      }),
    },
    http: exactly({ connections: number("Open ones."), streams: number("Clients that get these as a stream.") }),
  }),
  Alive: exactly({ status: { const: "alive" } }),
  Readiness: exactly(
    {
      status: { enum: ["ready", "waiting for an executor", "draining"] },
      reason: text("What it waits for, of the executor `queue`, and what to do."),
      executor: exactly({ kind: { type: "string" }, ready: { type: "boolean" }, sandbox: { type: "string" } }),
    },
    ["reason"],
  ),
} as const satisfies Readonly<Record<string, ApiSchema>>;
