import type { PatternType } from "./workflow.ts";
import { COUNT, HINT, ID, listOf, mapOf, NAME, record, SCALAR, TEXT, WAIT } from "./schema-parts.ts";

const IDENTIFIER = { type: "string", pattern: ID };
const INPUT = { type: "string", maxLength: TEXT.maxLength };
const TOOL_IDS = listOf(NAME);

const HUMAN_FIELDS = {
  type: { const: "hitl" },
  prompt: TEXT,
  context_display: TEXT,
  default: HINT,
  timeout_seconds: WAIT,
};
const VALIDATION = record({ pattern: HINT });
/** A review between two phases of a pattern. */
const REVIEW = record({ ...HUMAN_FIELDS, validation: VALIDATION }, ["type", "prompt"]);

/**
 * An agent's step, or with a `type` one that waits for a person: two schemas, so that problems refer to one of them.
 */
function step(fields: { readonly [name: string]: object }, extra: { readonly [name: string]: object } = {}): object {
  const ids = Object.keys(extra).filter((name) => name === "id");
  return {
    type: "object",
    if: { required: ["type"] },
    // A keyword of JSON Schema; the object is never awaited.
    // oxlint-disable-next-line unicorn/no-thenable
    then: record({ ...HUMAN_FIELDS, ...extra }, ["type", "prompt", ...ids]),
    else: record({ ...fields, ...extra }, ["agent", ...ids]),
  };
}

const STEP = step({ agent: NAME, input: INPUT, vars: mapOf(SCALAR), tool_overrides: TOOL_IDS });
const STEPS = listOf(STEP, { minItems: 1 });
const NODE = step({ agent: NAME, input: INPUT });
const TASK = step(
  { agent: NAME, input: INPUT, description: HINT },
  { id: IDENTIFIER, deps: listOf(IDENTIFIER, { uniqueItems: true }) },
);
const CHOICE = record({ when: { type: "string", minLength: 1, maxLength: 2_000 }, to: IDENTIFIER }, ["when", "to"]);

/** Schemas of the patterns' `config`. */
export const CONFIGS: { readonly [Type in PatternType]: object } = {
  chain: record({ steps: STEPS }, ["steps"]),
  routing: record(
    {
      router: record({ agent: NAME, input: INPUT, max_retries: WAIT, review_router: STEP }, ["agent"]),
      // A property's name; the object is never awaited.
      // oxlint-disable-next-line unicorn/no-thenable
      routes: mapOf(record({ then: listOf(STEP) }), { minProperties: 1 }),
    },
    ["router", "routes"],
  ),
  parallel: record(
    { branches: listOf(record({ id: IDENTIFIER, steps: STEPS }, ["id", "steps"]), { minItems: 2 }), reduce: STEP },
    ["branches"],
  ),
  workflow: record({ tasks: listOf(TASK, { minItems: 1 }) }, ["tasks"]),
  evaluator_optimizer: record(
    {
      producer: NAME,
      evaluator: record({ agent: NAME, input: INPUT }, ["agent"]),
      accept: record({ min_score: { type: "integer", minimum: 0, maximum: 100 }, max_iters: COUNT }, ["min_score"]),
      revise_prompt: TEXT,
      review_gate: REVIEW,
    },
    ["producer", "evaluator", "accept"],
  ),
  orchestrator_workers: record(
    {
      orchestrator: record({ agent: NAME, limits: record({ max_workers: COUNT, max_rounds: COUNT }) }, ["agent"]),
      decomposition_review: REVIEW,
      worker_template: record({ agent: NAME, tools: TOOL_IDS }, ["agent"]),
      reduce_review: REVIEW,
      reduce: STEP,
      writeup: STEP,
    },
    ["orchestrator", "worker_template"],
  ),
  graph: record(
    {
      max_iterations: COUNT,
      nodes: mapOf(NODE, { minProperties: 1 }),
      edges: listOf(
        {
          ...record({ from: IDENTIFIER, to: listOf(IDENTIFIER), choose: listOf(CHOICE) }, ["from"]),
          oneOf: [{ required: ["to"] }, { required: ["choose"] }],
        },
        { minItems: 1 },
      ),
    },
    ["nodes", "edges"],
  ),
};
