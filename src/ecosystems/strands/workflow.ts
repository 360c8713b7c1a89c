import type { JsonSchema } from "../../base/json.ts";

/** A normalized workflow from `load_spec`: all fields exist, and every tool has the form `{ callable }`. */
export interface Workflow {
  readonly version: 0;
  readonly name: string;
  readonly description: string;
  readonly runtime: Runtime;
  /** By id, without a prototype. */
  readonly agents: { readonly [id: string]: Agent };
  readonly pattern: { readonly type: string; readonly config: { readonly steps: readonly Step[] } };
  readonly tools: { readonly [kind: string]: readonly ToolEntry[] };
  readonly outputs: { readonly artifacts: readonly Artifact[] };
}

/** Model and its server. */
export interface Runtime {
  readonly provider: string;
  readonly model_id: string;
  /** URL of the server; each provider has a default. */
  readonly host?: string;
}

export interface Agent {
  readonly prompt: string;
}

/** A step of a chain; `input` is a template. */
export interface Step {
  readonly agent: string;
  readonly input: string;
}

/** A tool, by its id or its full path. */
export interface ToolEntry {
  readonly callable: string;
}

/** A file to write; `from` is a template. */
export interface Artifact {
  readonly path: string;
  readonly from: string;
}

/** Supported kinds of tools. `python` is the name in Strands' documents; both mean the same tools. */
export const TOOL_KINDS: readonly string[] = ["python", "javascript"];

const PARTS_MAX = 100;
const ID = "^[A-Za-z0-9_-]{1,64}$";
const NAME = { type: "string", minLength: 1, maxLength: 256 };
const TEXT = { type: "string", minLength: 1, maxLength: 100_000 };

const STEPS = {
  type: "object",
  properties: {
    steps: {
      type: "array",
      minItems: 1,
      maxItems: PARTS_MAX,
      items: {
        type: "object",
        properties: { agent: NAME, input: TEXT },
        required: ["agent", "input"],
        additionalProperties: false,
      },
    },
  },
  required: ["steps"],
  additionalProperties: false,
};

/** Schema of callables. Tools of other kinds are not validated, because they are never run. */
const TOOLS = {
  type: "object",
  maxProperties: PARTS_MAX,
  properties: Object.fromEntries(
    TOOL_KINDS.map((kind) => [
      kind,
      {
        type: "array",
        maxItems: PARTS_MAX,
        items: {
          type: ["string", "object"],
          minLength: 1,
          maxLength: 256,
          properties: { callable: NAME },
          required: ["callable"],
          additionalProperties: false,
        },
      },
    ]),
  ),
};

/** Schema of a workflow file. The `config` of a pattern other than a chain is not validated. */
export const WORKFLOW: JsonSchema = {
  type: "object",
  properties: {
    version: { const: 0 },
    name: NAME,
    description: { type: "string", maxLength: 10_000 },
    runtime: {
      type: "object",
      properties: { provider: NAME, model_id: NAME, host: { type: "string", format: "uri", maxLength: 2_000 } },
      required: ["provider", "model_id"],
      additionalProperties: false,
    },
    agents: {
      type: "object",
      minProperties: 1,
      maxProperties: PARTS_MAX,
      propertyNames: { pattern: ID },
      additionalProperties: {
        type: "object",
        properties: { prompt: TEXT },
        required: ["prompt"],
        additionalProperties: false,
      },
    },
    pattern: {
      type: "object",
      properties: { type: NAME, config: { type: "object" } },
      required: ["type", "config"],
      additionalProperties: false,
      if: { properties: { type: { const: "chain" } }, required: ["type"] },
      // A keyword of JSON Schema; the object is never awaited.
      // oxlint-disable-next-line unicorn/no-thenable
      then: { properties: { config: STEPS } },
    },
    tools: TOOLS,
    outputs: {
      type: "object",
      properties: {
        artifacts: {
          type: "array",
          maxItems: PARTS_MAX,
          items: {
            type: "object",
            properties: { path: { type: "string", minLength: 1, maxLength: 1_000 }, from: TEXT },
            required: ["path", "from"],
            additionalProperties: false,
          },
        },
      },
      additionalProperties: false,
    },
  },
  required: ["version", "name", "runtime", "agents", "pattern"],
  additionalProperties: false,
};
