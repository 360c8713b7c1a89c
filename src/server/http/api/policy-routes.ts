import { json, refusals, type RouteDescription } from "./route-description.ts";
import { type ApiSchema, exactly, listOf, number, orNull, text } from "./schema-parts.ts";

const OUTCOMES = ["ok", "denied", "failed", "limit"];
const ANSWERS = ["granted", "denied", "unknown"];

const FINDING = exactly(
  {
    tool: orNull(text("The tool; `null` for the policy.")),
    pointer: text("JSON pointer into the tool's definition, or into the configuration."),
    reason: text("What is wrong."),
    remediation: text("The change that fixes it."),
    line: number("Line in the text of the policy, from 1."),
    column: number("Column in it."),
  },
  ["line", "column"],
);

const ASK: ApiSchema = {
  capability: text("The capability."),
  method: text("Its method."),
  target: orNull(text("What it was about, as far as that was kept.")),
  was: { enum: OUTCOMES, description: "As it was answered." },
};
const RULE = orNull(text("The rule that would grant it, as `policy.rules[2]`."));

const REQUEST = {
  type: "object",
  properties: {
    policy: { type: "string", maxLength: 65_536, description: "YAML or JSON: the rules, or a configuration." },
    call: {
      type: "object",
      properties: {
        tool: text("The tool; default: that of the stored call."),
        tenant: text("The tenant; default: that of the stored call, or none."),
        id: text("Id of a stored call, whose capability calls are looked at."),
        arguments: { description: "No tool runs: they are not looked at." },
      },
    },
    since: { type: ["string", "number"], description: "Earliest begin of the stored calls; default: 24 hours ago." },
    limit: { type: "integer", minimum: 0, maximum: 1_000, description: "Stored calls that are looked at." },
  },
  required: ["policy"],
};

export const SIMULATE_POLICY: RouteDescription = {
  id: "simulatePolicy",
  tag: "tools",
  summary: "Looks at a policy without putting it in force.",
  description:
    "Says its mistakes, what it would grant to a tool, and what it would answer otherwise to stored calls. Runs no tool and writes nothing. Stored calls are looked at only for a key that also has the role `calls`: those of its tenant and tools. A policy's `fs` names folders of the server, and the answer says which of them do not exist.",
  body: {
    "application/json": {
      schema: REQUEST,
      example: { policy: "rules:\n  - tools: [weather]\n    allow: { kv: true }\n", call: { tool: "weather" } },
    },
  },
  answers: {
    200: json(
      "What the policy would do.",
      exactly({
        findings: listOf(FINDING),
        grants: listOf(
          exactly({
            capability: text("The capability."),
            granted: text("What of it, in words."),
            from: text("The rule, as `policy.rules[2]`."),
          }),
        ),
        asks: listOf(exactly({ ...ASK, outcome: { enum: ANSWERS }, rule: RULE })),
        changes: listOf(
          exactly({
            id: text("Id of the stored call."),
            tool: text("Its tool."),
            tenant: text("Its tenant."),
            ...ASK,
            would: { enum: ANSWERS, description: "`unknown` where the record does not tell." },
            rule: orNull(text("The rule that would grant it, or else the rule that did.")),
          }),
        ),
        compared: exactly({
          calls: number("Number of stored calls that were looked at."),
          isComplete: { type: "boolean", description: "Whether those are all since then." },
        }),
      }),
    ),
    ...refusals({
      400: "The body is wrong: `error.message` says how.",
      404: "There is no such tool or stored call.",
      429: "Too many simulations run.",
    }),
  },
};
