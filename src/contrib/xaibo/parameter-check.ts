import type { JsonSchema } from "../../kernel/base/json.ts";
import { compileSchema } from "../../kernel/base/schema/schema.ts";
import { describeViolations, type Violation } from "../../kernel/base/schema/violation.ts";
import { ToolParameterError, wordsOf } from "./errors.ts";
import { describeUnwritable } from "./json-value.ts";

type Parameters = { readonly [name: string]: unknown };

/**
 * Validates parameters against a schema. Returns a copy with the schema's defaults, or throws a `ToolParameterError`
 * that lists every violation. Throws a `GloveboxError` at once if the schema is invalid.
 */
export function parameterCheck(schema: JsonSchema): (given: unknown) => Parameters {
  const validator = compileSchema(schema, "inputSchema");
  return (given) => {
    const parameters = copyOf(given);
    const violations = validator.check(parameters);
    if (violations.length === 0) return parameters;
    throw parameterError(describeViolations(violations), { violations });
  };
}

/** Copies parameters, because defaults are written into them and the tool may change them. */
function copyOf(parameters: unknown): Parameters {
  try {
    const wrong = describeUnwritable(parameters);
    if (wrong !== null) throw new TypeError(wrong);
    return JSON.parse(JSON.stringify(parameters ?? {})) as Parameters;
  } catch (error) {
    throw parameterError(`the parameters cannot be written as JSON: ${wordsOf(error)}`);
  }
}

function parameterError(message: string, details?: { readonly violations: readonly Violation[] }): ToolParameterError {
  return new ToolParameterError(message, { code: "invalid_arguments", details });
}
