import type { JsonSchema } from "../../kernel/base/json.ts";
import { CONFIGS } from "./pattern-schema.ts";
import { COUNT, HINT, listOf, mapOf, NAME, PARTS_MAX, record, SCALAR, TEXT, URL_TEXT, WAIT } from "./schema-parts.ts";
import { TOOL_KINDS } from "./workflow.ts";

const RATIO = { type: "number", minimum: 0, maximum: 1 };
const INFERENCE = { temperature: { type: "number", minimum: 0, maximum: 2 }, top_p: RATIO, max_tokens: COUNT };
const TYPES = { enum: ["string", "number", "integer", "boolean", "array", "object"] };

const RUNTIME = record(
  {
    ...INFERENCE,
    provider: NAME,
    model_id: NAME,
    region: NAME,
    host: URL_TEXT,
    space_id: NAME,
    max_parallel: COUNT,
    budgets: record({ max_steps: COUNT, max_tokens: COUNT, max_duration_s: COUNT, warn_threshold: RATIO }),
    failure_policy: record({
      retries: WAIT,
      backoff: { enum: ["constant", "exponential", "jittered"] },
      wait_min: WAIT,
      wait_max: WAIT,
    }),
  },
  ["provider"],
);

const SCHEMA_OF_AGENT = { type: ["string", "object"], maxLength: 1_000 };
const AGENT = {
  ...record({
    prompt: TEXT,
    $ref: { type: "string", minLength: 1, maxLength: 1_000 },
    tools: listOf(NAME),
    provider: NAME,
    model_id: NAME,
    inference: record(INFERENCE),
    input_schema: SCHEMA_OF_AGENT,
    output_schema: SCHEMA_OF_AGENT,
  }),
  if: { required: ["$ref"] },
  else: { required: ["prompt"] },
};

const VARIABLE = {
  type: ["string", "object"],
  if: { type: "string" },
  // A keyword of JSON Schema; the object is never awaited.
  // oxlint-disable-next-line unicorn/no-thenable
  then: TYPES,
  else: record({ type: TYPES, description: HINT, default: {}, enum: { type: "array", maxItems: PARTS_MAX } }, ["type"]),
};

/** Callables. Tools of other kinds are not validated, because they are never run. */
const TOOLS = {
  type: "object",
  maxProperties: PARTS_MAX,
  properties: Object.fromEntries(
    TOOL_KINDS.map((kind) => [
      kind,
      listOf({
        type: ["string", "object"],
        minLength: 1,
        maxLength: 256,
        properties: { callable: NAME },
        required: ["callable"],
        additionalProperties: false,
      }),
    ]),
  ),
};

/** Sections that only describe a workflow: they are accepted, and have no effect. */
const HINTS = {
  metadata: record({ name: NAME, description: HINT, labels: { type: "object", maxProperties: PARTS_MAX } }),
  tags: listOf({ type: "string", pattern: "^[a-z0-9][a-z0-9._-]{0,255}$" }, { uniqueItems: true }),
  telemetry: { type: "object", maxProperties: PARTS_MAX },
};

/** Sections that `check_capability` decides about. */
const OTHERS = {
  env: record({
    secrets: listOf(
      record({ key: NAME, name: NAME, source: { enum: ["env", "secrets_manager", "ssm", "file"] }, path: NAME }, [
        "key",
        "source",
      ]),
    ),
    mounts: mapOf({ type: "string", maxLength: 1_000 }),
  }),
  context_policy: record({
    compaction: { type: "object", maxProperties: PARTS_MAX },
    notes: { type: "object", maxProperties: PARTS_MAX, required: ["file"] },
    retrieval: record({ jit_tools: listOf(NAME), mcp_servers: listOf(NAME) }),
  }),
  skills: listOf(
    record({ id: NAME, path: NAME, description: HINT, preload_metadata: { type: "boolean" } }, ["id", "path"]),
  ),
  security: record({
    guardrails: record({
      deny_network: { type: "boolean" },
      pii_redaction: { type: "boolean" },
      allow_tools: listOf(NAME),
    }),
  }),
};

/** Schema of a workflow file: a file that is valid for the Strands CLI is valid here, up to the limits on sizes. */
export const WORKFLOW: JsonSchema = {
  ...record(
    {
      version: { type: ["integer", "string"], maxLength: 64 },
      name: NAME,
      description: HINT,
      runtime: RUNTIME,
      inputs: record({ required: mapOf(VARIABLE), optional: mapOf(VARIABLE), values: mapOf(SCALAR) }),
      agents: mapOf(AGENT, { minProperties: 1 }),
      pattern: {
        ...record({ type: { enum: Object.keys(CONFIGS) }, config: { type: "object" } }, ["type", "config"]),
        allOf: Object.entries(CONFIGS).map(([type, config]) => ({
          if: { properties: { type: { const: type } }, required: ["type"] },
          // oxlint-disable-next-line unicorn/no-thenable
          then: { properties: { config } },
        })),
      },
      tools: TOOLS,
      outputs: record({
        artifacts: listOf(
          record({ path: { type: "string", minLength: 1, maxLength: 1_000 }, from: TEXT }, ["path", "from"]),
        ),
      }),
      ...HINTS,
      ...OTHERS,
    },
    ["version", "name", "runtime", "agents", "pattern"],
  ),
};
