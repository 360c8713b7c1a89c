import { WAIT_MAX_MS } from "../durable/durable-calls.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import { CALL_ID_MAX, isName } from "../../base/call-ids.ts";
import { byteLength, isObject } from "../../base/json.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import type { Limits } from "../../base/limits.ts";
import type { ToolCall } from "../../base/result.ts";
import type { UnreadJson } from "../../base/unread-json.ts";
import { UnwritableError, writeAny } from "../../base/json-writer.ts";
import { NOT_PLAIN, TOO_LARGE, writePlain } from "./plain-json.ts";

const COMMAND_MAX = 256;
const PAUSES: readonly unknown[] = ["return", "wait", "refuse"];
const RETRIES: readonly unknown[] = [0, 1, 2, 3, 4, 5];

type Form = readonly [isValid: (value: unknown) => boolean, description: string];

const FUNCTION: Form = [(value) => typeof value === "function", "a function"];
const OBJECT: Form = [isObject, "an object"];
const NAME: Form = [isName, `a string of 1 to ${CALL_ID_MAX} characters`];

/** Forms of the options. The limits' values are checked with the tool's, and capabilities with the policy. */
const OPTION_FORMS: { readonly [Name in keyof Required<ExecuteOptions>]: Form } = {
  tenant: [(value) => typeof value === "string", "a string"],
  priority: [(value) => typeof value === "number" && !Number.isNaN(value), "a number"],
  origin: OBJECT,
  signal: [(value) => value instanceof AbortSignal, "an AbortSignal"],
  limits: OBJECT,
  maxLimits: OBJECT,
  tools: [(value) => Array.isArray(value) && value.every((name) => typeof name === "string"), "a list of strings"],
  capabilities: OBJECT,
  record: [(value) => typeof value === "boolean", "true or false"],
  idempotencyKey: NAME,
  pause: [(value) => PAUSES.includes(value), "return, wait or refuse"],
  durable: [(value) => typeof value === "boolean", "true or false"],
  undo: [(value) => value === "onFailure", "onFailure"],
  waitMs: [(value) => typeof value === "number" && value >= 0 && value <= WAIT_MAX_MS, "a number from 0 to 25,000"],
  retries: [(value) => RETRIES.includes(value), "a whole number from 0 to 5"],
  onLog: FUNCTION,
  onProgress: FUNCTION,
  onCapability: FUNCTION,
  onCpu: FUNCTION,
};
const FORMS: ReadonlyMap<string, Form> = new Map(Object.entries(OPTION_FORMS));

/** The fault in the form of a call's options; `null` if they are valid. */
export function describeOptions(options: unknown): string | null {
  if (!isObject(options)) return "the call's options must be an object";
  // Usually there are no options, so only existing ones are checked.
  for (const name in options) {
    const value = options[name];
    const form = value === undefined ? undefined : FORMS.get(name);
    if (form !== undefined && !form[0](value)) return `the call's ${name} must be ${form[1]}`;
  }
  return null;
}

/** The fault in a call's form, before schema validation; `null` if it is valid. */
export function describeMalformed(call: ToolCall, callId: unknown, given?: UnreadJson): string | null {
  if (!isName(callId)) return `the call's id must be ${NAME[1]}`;
  const { command }: { readonly command?: unknown } = call;
  if (command !== undefined && (typeof command !== "string" || command === "" || command.length > COMMAND_MAX)) {
    return `the call's command must be a string of 1 to ${COMMAND_MAX} characters`;
  }
  // Only an object is left unread.
  if (given !== undefined) return null;
  const args: unknown = call.arguments ?? {};
  return typeof args === "object" && !Array.isArray(args) ? null : "the call's arguments must be an object";
}

/** Arguments as JSON, or an error: the tool's isolate checks them. Does not change the caller's object. */
export function writeArguments(given: object, limits: Limits): string | ToolError {
  const plain = writePlain(given, limits.inputBytes);
  if (plain === TOO_LARGE) return tooLarge(limits);
  let text: string;
  try {
    text = plain === NOT_PLAIN ? writeAny(given) : plain;
  } catch (error) {
    if (error instanceof UnwritableError) return toolError("invalid_arguments", error.message);
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "";
    return toolError("invalid_arguments", `the arguments cannot be written as JSON: ${reason}`);
  }
  return byteLength(text, limits.inputBytes) > limits.inputBytes ? tooLarge(limits) : text;
}

/**
 * Arguments that a surface has cut out of its request's text, and proved to be an object in JSON. Blanks do not count:
 * they are no part of the arguments.
 */
export function takeArguments({ json, blanks }: UnreadJson, limits: Limits): string | ToolError {
  return byteLength(json, limits.inputBytes) - blanks > limits.inputBytes ? tooLarge(limits) : json;
}

function tooLarge({ inputBytes }: Limits): ToolError {
  return toolError(
    "input_too_large",
    `the arguments have more than ${inputBytes} bytes of JSON, which is the limit (limits.inputBytes)`,
  );
}

/** Tenant of a call's options. Options that admission refused may hold any value. */
export function tenantOf(options: { readonly tenant?: unknown } | null): string {
  return typeof options?.tenant === "string" ? options.tenant : "";
}
