import { NAMES } from "../../../kernel/base/limits.ts";

import { exactly, listOf, number, orNull, text } from "./schema-parts.ts";

export const NODE_NAMES = listOf(
  exactly(
    { name: text("A module, a member or a global of Node."), instead: text("What to use instead, if it refuses.") },
    ["instead"],
  ),
);

/** A tool's grants and limits, each with the rule that sets it. */
export const EXPLANATION = exactly(
  {
    tool: text("The tool's name."),
    tenant: text("Tenant of the calls; empty for calls without a tenant."),
    isolation: text("Isolation level: what each call gets of its own."),
    group: orNull(text("The trust group whose processes run the calls; null with `threads` and `queue`.")),
    grants: listOf(exactly({ capability: text("Its name."), granted: text("In words."), from: text("The rule.") })),
    limits: listOf(
      exactly(
        {
          limit: { enum: NAMES },
          value: number("Value, in the limit's unit."),
          from: { enum: ["default", "limits", "tool", "codeMode", "maxLimits"] },
          declared: number("What the tool declares, where that is more than it may have."),
        },
        ["declared"],
      ),
    ),
    processorTime: { enum: ["measured", "estimated"] },
    schemas: exactly(
      {
        parses: { enum: ["host", "isolate"] },
        parsesReason: { type: "string" },
        wholeReason: { type: "string" },
        evaluationMs: { type: "number" },
      },
      ["parsesReason", "wholeReason"],
    ),
    findings: listOf(
      exactly({ pointer: text("Where."), reason: text("What is wrong."), remediation: text("What to change.") }),
    ),
    node: NODE_NAMES,
    program: exactly({
      mayRun: { type: "boolean", description: "Whether the caller may run programs at all." },
      callable: number("Number of tools that its programs may call."),
      total: number("Number of all tools."),
      tools: listOf(
        exactly(
          {
            tool: text("The tool's name."),
            isCallable: { type: "boolean" },
            from: { ...listOf({ type: "string" }), description: "Where that is decided." },
            reason: text("Why programs may not call it."),
          },
          ["reason"],
        ),
      ),
    }),
  },
  ["program"],
);
