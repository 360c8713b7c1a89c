import type { ExecuteOptions } from "../execute-options.ts";
import { byteLength } from "../../base/json.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import type { Limits } from "../../base/limits.ts";
import type { ToolCall } from "../../base/result.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import { describeViolations } from "../../base/schema/violation.ts";

/** Maximum length of a call's id. */
export const CALL_ID_MAX = 256;
const COMMAND_MAX = 256;
const RETRIES: readonly unknown[] = [0, 1, 2, 3, 4, 5];

/** Describes what is wrong with a call's form or options, before schema validation; `null` if they are valid. */
export function describeMalformed(call: ToolCall, callId: unknown, options: ExecuteOptions): string | null {
  const { signal, tenant, onLog, onProgress }: { readonly [Name in keyof ExecuteOptions]?: unknown } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) return "the call's signal must be an AbortSignal";
  if (tenant !== undefined && typeof tenant !== "string") return "the call's tenant must be a string";
  if (onLog !== undefined && typeof onLog !== "function") return "the call's onLog must be a function";
  if (onProgress !== undefined && typeof onProgress !== "function") return "the call's onProgress must be a function";
  if (typeof callId !== "string" || callId === "" || callId.length > CALL_ID_MAX) {
    return `the call's id must be a string of 1 to ${CALL_ID_MAX} characters`;
  }
  const { command }: { readonly command?: unknown } = call;
  if (command !== undefined && (typeof command !== "string" || command === "" || command.length > COMMAND_MAX)) {
    return `the call's command must be a string of 1 to ${COMMAND_MAX} characters`;
  }
  const { idempotencyKey: key }: { readonly idempotencyKey?: unknown } = options;
  if (key !== undefined && (typeof key !== "string" || key === "" || key.length > CALL_ID_MAX)) {
    return `the call's idempotencyKey must be a string of 1 to ${CALL_ID_MAX} characters`;
  }
  const { retries }: { readonly retries?: unknown } = options;
  if (retries !== undefined && !RETRIES.includes(retries))
    return "the call's retries must be a whole number from 0 to 5";
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
  let text: string;
  try {
    text = JSON.stringify(given);
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "";
    return toolError("invalid_arguments", `the arguments cannot be written as JSON: ${reason}`);
  }
  const size = byteLength(text, limits.inputBytes);
  if (size > limits.inputBytes) {
    return toolError("input_too_large", `the arguments have ${size} bytes of JSON, the limit is ${limits.inputBytes}`);
  }
  if (isFree) return text;
  const { checkInput } = tool;
  const value: unknown = checkInput.hasDefaults ? JSON.parse(text) : given;
  const violations = checkInput.check(value);
  if (violations.length > 0) {
    return toolError("invalid_arguments", describeViolations(violations), { violations });
  }
  return checkInput.hasDefaults ? JSON.stringify(value) : text;
}

/** Tenant of a call's options. Options that admission refused may hold any value. */
export function tenantOf(options: { readonly tenant?: unknown } | null): string {
  return typeof options?.tenant === "string" ? options.tenant : "";
}
