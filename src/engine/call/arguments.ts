import type { ExecuteOptions } from "../execute-options.ts";
import { byteLength, isObject } from "../../base/json.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import type { Limits } from "../../base/limits.ts";
import type { ToolCall } from "../../base/result.ts";
import { copyPlain, NOT_PLAIN, TOO_LARGE } from "./plain-copy.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import { describeViolations } from "../../base/schema/violation.ts";

/** Maximum length of a call's id. */
export const CALL_ID_MAX = 256;
const COMMAND_MAX = 256;
const RETRIES: readonly unknown[] = [0, 1, 2, 3, 4, 5];

type Form = readonly [isValid: (value: unknown) => boolean, description: string];

const FUNCTION: Form = [(value) => typeof value === "function", "a function"];
const OBJECT: Form = [isObject, "an object"];
const NAME: Form = [isName, `a string of 1 to ${CALL_ID_MAX} characters`];

/** Forms of the options. The limits' values are checked with the tool's, and capabilities with the policy. */
const OPTION_FORMS: { readonly [Name in keyof Required<ExecuteOptions>]: Form } = {
  tenant: [(value) => typeof value === "string", "a string"],
  priority: [(value) => typeof value === "number" && !Number.isNaN(value), "a number"],
  signal: [(value) => value instanceof AbortSignal, "an AbortSignal"],
  limits: OBJECT,
  maxLimits: OBJECT,
  tools: [(value) => Array.isArray(value) && value.every((name) => typeof name === "string"), "a list of strings"],
  capabilities: OBJECT,
  record: [(value) => typeof value === "boolean", "true or false"],
  idempotencyKey: NAME,
  retries: [(value) => RETRIES.includes(value), "a whole number from 0 to 5"],
  onLog: FUNCTION,
  onProgress: FUNCTION,
  onCapability: FUNCTION,
  onCpu: FUNCTION,
};
const FORMS: ReadonlyMap<string, Form> = new Map(Object.entries(OPTION_FORMS));

/** Whether a value may be the id of a call. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= CALL_ID_MAX;
}

/** Describes what is wrong with the form of a call's options; `null` if they are valid. */
export function describeOptions(options: unknown): string | null {
  if (!isObject(options)) return "the call's options must be an object";
  // Usually there are no options, so this looks at those that exist.
  for (const name in options) {
    const value = options[name];
    const form = value === undefined ? undefined : FORMS.get(name);
    if (form !== undefined && !form[0](value)) return `the call's ${name} must be ${form[1]}`;
  }
  return null;
}

/** Describes what is wrong with a call's form, before schema validation; `null` if it is valid. */
export function describeMalformed(call: ToolCall, callId: unknown): string | null {
  if (!isName(callId)) return `the call's id must be ${NAME[1]}`;
  const { command }: { readonly command?: unknown } = call;
  if (command !== undefined && (typeof command !== "string" || command === "" || command.length > COMMAND_MAX)) {
    return `the call's command must be a string of 1 to ${COMMAND_MAX} characters`;
  }
  const args: unknown = call.arguments ?? {};
  return typeof args === "object" && !Array.isArray(args) ? null : "the call's arguments must be an object";
}

/**
 * Arguments as JSON with the schema's defaults applied, or an error. Does not change the caller's object. `isFree`:
 * arguments of a command, which the schema does not describe.
 */
export function writeArguments(
  tool: RegisteredTool,
  given: object,
  limits: Limits,
  isFree: boolean,
): string | ToolError {
  // What is checked is what is sent, not the caller's object: a getter or `toJSON` may answer otherwise the second time.
  const copy = copyPlain(given, limits.inputBytes);
  if (copy === TOO_LARGE) return tooLarge(limits);
  let text: string;
  try {
    text = JSON.stringify(copy === NOT_PLAIN ? given : copy);
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "";
    return toolError("invalid_arguments", `the arguments cannot be written as JSON: ${reason}`);
  }
  if (byteLength(text, limits.inputBytes) > limits.inputBytes) return tooLarge(limits);
  if (isFree) return text;
  const { checkInput } = tool;
  const value: unknown = copy === NOT_PLAIN ? JSON.parse(text) : copy;
  const violations = checkInput.check(value);
  if (violations.length > 0) {
    return toolError("invalid_arguments", describeViolations(violations), { violations });
  }
  return checkInput.hasDefaults ? JSON.stringify(value) : text;
}

function tooLarge({ inputBytes }: Limits): ToolError {
  return toolError("input_too_large", `the arguments have more than ${inputBytes} bytes of JSON, which is the limit`);
}

/** Tenant of a call's options. Options that admission refused may hold any value. */
export function tenantOf(options: { readonly tenant?: unknown } | null): string {
  return typeof options?.tenant === "string" ? options.tenant : "";
}
