import { ERRORS } from "../../../kernel/base/errors.ts";
import { NAMES } from "../../../kernel/base/limits.ts";
import { WAIT_MAX_MS } from "../../../kernel/engine/durable/durable-calls.ts";
import { DEFINITION } from "../../../kernel/tool/definition.ts";

import { EVENT_SCHEMAS, INDEX } from "./event-schemas.ts";
import { EXPLANATION, NODE_NAMES } from "./explanation-schema.ts";
import { RECORD_SCHEMAS } from "./record-schemas.ts";
import { type ApiSchema, exactly, listOf, number, orNull, text } from "./schema-parts.ts";

export type { ApiSchema } from "./schema-parts.ts";

const limitsOf = (limit: ApiSchema): ApiSchema => Object.fromEntries(NAMES.map((name) => [name, limit]));

const QUANTILES = {
  p50Ms: orNull({ type: "number" }),
  p95Ms: orNull({ type: "number" }),
  p99Ms: orNull({ type: "number" }),
};

/** Members of problem details (RFC 9457). */
const PROBLEM = {
  type: { const: "about:blank", description: "The status says what it is." },
  title: text("The status in words."),
  status: { type: "integer", description: "The status." },
  detail: text("What happened."),
};

const CALL_LIMITS = {
  type: "object",
  description: "Limits of this call, within the server's ceiling. `memoryMb` is the tool's: a call cannot change it.",
  properties: limitsOf({ type: "number", exclusiveMinimum: 0 }),
  additionalProperties: false,
};

/** Options that a batch may set for all its calls. */
const COMMON_OPTIONS = {
  tenant: { type: "string", maxLength: 256, description: "Tenant of the call, unless the key has one." },
  priority: { type: "number", description: "-10 to 10; higher goes first. Default 0." },
  limits: CALL_LIMITS,
  capabilities: { type: "object", description: "Narrows what the tool is granted." },
  retries: { type: "integer", minimum: 0, maximum: 5, description: "Number of retries of a failed call." },
  pause: {
    enum: ["return", "wait", "refuse"],
    description:
      "Where the call has to wait for somebody: `return` answers `paused` at once, and it is kept; `wait` waits for its end for `waitMs`; `refuse` fails with `cannot_pause`. Default `return`.",
  },
  durable: {
    type: "boolean",
    description:
      "Stores the call before it begins: it goes on after the loss of its process, and each effect happens once.",
  },
  undo: {
    enum: ["onFailure"],
    description: "Where the call ends with an error, the tool calls that it has made are undone. Includes `durable`.",
  },
  waitMs: {
    type: "number",
    minimum: 0,
    maximum: WAIT_MAX_MS,
    description: "With `wait`, in milliseconds. Default 25,000.",
  },
};

const CALL_OPTIONS = {
  type: ["object", "null"],
  properties: {
    ...COMMON_OPTIONS,
    idempotencyKey: {
      type: "string",
      minLength: 1,
      maxLength: 256,
      description: "Calls with the same tenant, tool and key run once and share one result.",
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
      description: "Chosen by the caller; generated if missing.",
    },
    name: text("The tool."),
    arguments: { type: ["object", "null"], description: "Arguments that satisfy the tool's inputSchema." },
    command: { type: "string", minLength: 1, maxLength: 256, description: "An operation beside the tool's main one." },
    options: CALL_OPTIONS,
  },
  required: ["name"],
};

const LOG_LINE = exactly({ level: text("`debug`, `log`, `info`, `warn` or `error`."), message: text("The line.") });

const TOOL_ERROR = exactly(
  {
    code: { enum: Object.keys(ERRORS), description: "The error code." },
    type: text("The class name of what the tool threw, or of the server's own error."),
    message: text("What happened."),
    retryable: { type: "boolean", description: "Whether the same call may succeed later." },
    details: { description: "Details, depending on the code: for example violations, or `retryAfterMs`." },
    remedies: {
      type: "array",
      description: "What can be pasted to make the call succeed.",
      items: {
        type: "object",
        properties: {
          kind: { enum: ["config", "tool", "command"], description: "Where it goes." },
          pointer: text("JSON pointer into the configuration, or into the tool's definition."),
          yaml: text("A part of the configuration file."),
          json: { description: "The same as JSON: the value at `pointer`." },
          ts: text("A part of the tool's definition, as TypeScript."),
          command: text("A shell command."),
        },
        required: ["kind"],
      },
    },
  },
  ["details", "remedies"],
);

const CALLED_TOOL = exactly(
  {
    tool: text("The tool's name."),
    code: text("`ok`, the code of its error, or `unfinished`."),
    startMs: number("Milliseconds from the program's start to the begin of the call."),
    wallMs: number("Milliseconds until its end."),
    callId: text("Id of the call; absent where none was made."),
    line: { type: "integer", description: "Line of the program, from 1." },
    column: { type: "integer", description: "Column of the program, from 1." },
  },
  ["callId", "line", "column"],
);

const METADATA = {
  type: "object",
  description: "Cost and course of the call. Tools may add properties.",
  properties: {
    callId: text("The call's id."),
    tool: text("The tool."),
    queueMs: number("Milliseconds in the queue."),
    wallMs: number("Milliseconds from start to end."),
    cpuMs: number("Milliseconds of processor time."),
    heapBytes: number("Heap of the tool's isolate."),
    attempts: { type: "integer", description: "Number of attempts; 0 if the call never started." },
    logs: listOf(LOG_LINE),
    truncated: {
      type: "object",
      properties: { output: { type: "integer" }, logs: { type: "integer" } },
      description: "Number of bytes or lines that were cut off.",
    },
    calls: { ...listOf(CALLED_TOOL), description: "Only of programs: their calls of tools." },
    durableId: text("Only where the call is stored: the id by which it is undone."),
  },
  required: ["callId", "tool", "queueMs", "wallMs", "cpuMs", "heapBytes", "attempts", "logs"],
};

const TOOL_RESULT = exactly({
  success: { type: "boolean" },
  output: { description: "The tool's output; null if it failed." },
  error: orNull(TOOL_ERROR),
  metadata: METADATA,
});

const SCHEMA_OF_A_TOOL = { type: ["object", "boolean"], description: "A JSON Schema." };

const SCRIPT_SIZE = { bytes: { type: "integer" }, evaluationMs: { type: "number" } };

const TOOL_INFO = exactly(
  {
    name: text("Its name."),
    description: text("What it does."),
    version: text("Its version."),
    tags: listOf({ type: "string" }),
    inputSchema: SCHEMA_OF_A_TOOL,
    outputSchema: { type: ["object", "boolean", "null"], description: "A JSON Schema." },
    inferredOutputSchema: { type: "object", description: "A JSON Schema made of one output, and not enforced." },
    runtime: text("What runs it."),
    contract: text("The contract in which its module is written."),
    annotations: DEFINITION.properties.annotations,
    approval: DEFINITION.properties.approval,
    undo: { anyOf: [DEFINITION.properties.undo, { const: "function" }] },
    retries: { type: "integer" },
    isolation: text("Isolation level: what each call gets of its own."),
    isolationReason: text("Why the level differs from the requested one."),
    limits: { type: "object", properties: limitsOf({ type: "number" }), required: NAMES, additionalProperties: false },
    capabilities: { type: "object", description: "Requested capabilities." },
    script: exactly({ ...SCRIPT_SIZE, describe: exactly(SCRIPT_SIZE) }, ["describe"]),
    parses: text("Who applies its schemas: host, before its module is evaluated; or isolate, where they say more."),
    parsesReason: text("What its schemas say more than their JSON Schemas."),
    wholeReason: text("Why each call evaluates all of its module, with its schema library."),
    node: NODE_NAMES,
    mcpRewrites: {
      ...listOf(exactly({ pointer: text("Where."), reason: text("In which form, or why.") })),
      maxItems: 20,
      description: "Where clients of the Model Context Protocol get schemas in another form.",
    },
    examples: listOf({ type: "object" }),
    registrant: text("Who registered it: operator, key:NAME or local."),
    tenant: text("The tenant whose calls alone find it."),
    commands: listOf(text("A command, as far as the tool's code shows them.")),
    digest: text("SHA-256 of its code, schemas and requests, in hexadecimal: a rule of the policy may pin it."),
  },
  [
    "inferredOutputSchema",
    "approval",
    "undo",
    "isolationReason",
    "parsesReason",
    "wholeReason",
    "node",
    "mcpRewrites",
    "examples",
    "tenant",
    "commands",
  ],
);

const { entry: _entry, ...definedByClients } = DEFINITION.properties;
/** A tool definition from a client: without file names, which would refer to files of the server. */
const TOOL_DEFINITION = {
  ...DEFINITION,
  properties: {
    ...definedByClients,
    source: { ...DEFINITION.properties.source, description: "The module's text." },
    config: { description: "Any JSON value; the tool reads it from its context." },
  },
  required: [...DEFINITION.required, "source"],
};

const MACHINE = exactly({
  id: text("Its own."),
  host: orNull(text("The name of its system.")),
  state: { enum: ["ready", "draining", "unready", "other protocol"] },
  slots: number("Maximum number of jobs at once."),
  busySlots: number("Slots with a job."),
  protocols: listOf({ type: "integer" }),
  isSandboxed: { type: "boolean" },
  silentMs: number("Milliseconds since its last heartbeat; it sends one per second."),
});
const FLEET = exactly({
  machines: number("Worker machines that accept this server's calls."),
  slots: number("Maximum number of jobs at once."),
  busySlots: number("Slots with a job."),
  waitingJobs: number("Jobs of this server that no machine has accepted."),
  isRedisUp: { type: "boolean" },
  problem: orNull(text("Why no calls run, and the remedy.")),
  seen: { ...listOf(MACHINE), maxItems: 100, description: "Machines with a recent heartbeat." },
  unlisted: number("Number of machines that are not listed."),
  unreadable: number("Machines with another secret."),
});

/** Schemas of the API, by their names in the OpenAPI document. */
export const SCHEMAS = {
  ...RECORD_SCHEMAS,
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
  ...EVENT_SCHEMAS,
  BatchResultEvent: exactly({ index: INDEX, result: TOOL_RESULT }),
  ToolInfo: TOOL_INFO,
  ToolDefinition: TOOL_DEFINITION,
  Asset: exactly({
    url: text("Download URL."),
    asset_name: text("Its name."),
    asset_version: text("Its version."),
    bytes: { type: "integer" },
    sha256: text("In hexadecimal."),
  }),
  AssetError: exactly({
    ...PROBLEM,
    error: exactly({ code: text("Why."), message: text("What is wrong."), pointer: text("Where.") }, ["pointer"]),
  }),
  PlainError: exactly({ ...PROBLEM, error: text("What happened, as `detail`.") }),
  Explanation: EXPLANATION,
  Stats: exactly({
    time: text("ISO 8601."),
    uptimeMs: number("Milliseconds since the server started."),
    state: { enum: ["open", "draining", "closed"] },
    calls: exactly({ perSecond: number("Completed calls."), errorsPerSecond: number("With an error."), ...QUANTILES }),
    queued: number("Calls that wait."),
    running: number("Calls that run."),
    executor: exactly(
      {
        kind: text("`process`, `threads` or `queue`."),
        ready: { type: "boolean" },
        problem: orNull(text("Why no calls can run now, such as `spawn node EMFILE`.")),
        spareReady: { type: "boolean" },
        rssBytes: number("Resident memory of all executors."),
        sandbox: { type: "object", description: "The operating system sandbox, or why it is off." },
        groups: listOf(
          exactly({ name: text("A trust group."), pids: listOf({ type: "integer", description: "A process." }) }),
        ),
        fleet: FLEET,
      },
      ["groups", "fleet"],
    ),
    isolates: exactly({
      active: number("With calls."),
      warm: number("With a tool, and no calls."),
      blank: number("Without a tool."),
    }),
    restarts: number("Lost and recycled executors."),
    quarantined: listOf(text("A quarantined tool.")),
    needLogin: listOf(text("A connector to which somebody has to log in.")),
    problems: listOf(text("What somebody has to mend though calls run, what it means, and what to do.")),
    tools: {
      type: "array",
      maxItems: 50,
      items: exactly({
        name: text("The tool's name."),
        callsPerSecond: number("Completed calls."),
        errorsPerSecond: number("With an error."),
        cpuMsPerSecond: number("1,000 is one processor."),
        p99Ms: orNull({ type: "number" }),
      }),
    },
    http: exactly({ connections: number("Open ones."), streams: number("Clients that stream these statistics.") }),
  }),
  Alive: exactly({ status: { const: "alive" } }),
  Readiness: exactly(
    {
      status: { enum: ["ready", "waiting for an executor", "draining"] },
      reason: text("Why no calls can run now, such as `spawn node EMFILE`."),
      executor: exactly({ kind: { type: "string" }, ready: { type: "boolean" }, sandbox: { type: "string" } }),
      cgroup: exactly(
        {
          kind: { enum: ["delegated", "off"] },
          reason: text("Why the kernel does not limit the memory of executors, and what to do."),
        },
        ["reason"],
      ),
      connectors: exactly({ needLogin: listOf(text("A connector to which somebody has to log in.")) }),
      calls: exactly({ problem: text("Why calls cannot be kept now; they run all the same.") }),
      idempotency: exactly({ problem: text("Why calls with a new idempotency key are refused now.") }),
      redis: listOf(
        exactly({
          uses: listOf({ enum: ["fleet", "kv", "idempotency", "calls"] }),
          problem: text("Why Redis cannot be used, what it means for calls, and what to do."),
        }),
      ),
      reload: exactly({ problem: text("That the last reload was refused, and which configuration is in force.") }),
    },
    ["reason", "cgroup", "connectors", "calls", "idempotency", "redis", "reload"],
  ),
} as const satisfies Readonly<Record<string, ApiSchema>>;
