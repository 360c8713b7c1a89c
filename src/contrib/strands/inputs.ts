import { isLongInteger, parseWithDigits } from "../../kernel/base/exact-json.ts";
import { describeExcess } from "../../kernel/base/json.ts";
import { InputError } from "./errors.ts";
import type { Scope } from "./expression.ts";
import type { Inputs, InputSpec, InputType } from "./workflow.ts";

/**
 * Variables of a run: the given ones, and the workflow's `values` and defaults for the others. Texts become values of
 * the declared types. Undeclared variables stay unchanged. Throws an `InputError` that names every problem.
 */
export function readVariables({ required, optional, values }: Inputs, given: Scope): Scope {
  const problems: string[] = [];
  const read: { [name: string]: unknown } = Object.assign(Object.create(null), values, given);
  for (const [name, spec] of [...Object.entries(optional), ...Object.entries(required)]) {
    if (read[name] === undefined && spec.default !== undefined) read[name] = spec.default;
    const value = read[name];
    if (value === undefined) {
      if (Object.hasOwn(required, name)) problems.push(`the input "${name}" is required: --var ${name}=…`);
      continue;
    }
    const typed = typeof value === "string" ? readText(value, spec.type) : value;
    const problem = problemOf(typed, spec);
    if (problem === null) read[name] = typed;
    else problems.push(`the input "${name}" ${problem}`);
  }
  if (problems.length > 0) throw new InputError(problems.join("; "));
  return { ...read };
}

/** Value of a text for a type; the text itself if it has no such value. */
function readText(text: string, type: InputType): unknown {
  switch (type) {
    case "string":
      return text;
    case "number":
    case "integer":
      return text.trim() === "" || isLongInteger(text.trim()) ? text.trim() : Number(text);
    case "boolean":
      return /^(?:true|false)$/i.test(text) ? text.toLowerCase() === "true" : text;
    case "array":
    case "object":
      try {
        return describeExcess(text) === null ? parseWithDigits(text) : text;
      } catch {
        return text;
      }
  }
}

function problemOf(value: unknown, { type, enum: allowed }: InputSpec): string | null {
  if (!isOfType(value, type)) return `must be of the type ${type}`;
  const isAllowed = allowed === undefined || allowed.some((each) => JSON.stringify(each) === JSON.stringify(value));
  return isAllowed ? null : `must be one of ${JSON.stringify(allowed).slice(0, 500)}`;
}

/** A long integer is the text of its digits. */
function isDigits(value: unknown): boolean {
  return typeof value === "string" && isLongInteger(value);
}

function isOfType(value: unknown, type: InputType): boolean {
  switch (type) {
    case "string":
    case "boolean":
      return typeof value === type;
    case "number":
      return Number.isFinite(value) || isDigits(value);
    case "integer":
      return Number.isSafeInteger(value) || isDigits(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
  }
}
