import { ERRORS, isErrorCode, type ToolError } from "../../../kernel/base/errors.ts";
import { isObject, type JsonSchema, pointerSegment } from "../../../kernel/base/json.ts";
import type { ToolCall, ToolResult } from "../../../kernel/base/result.ts";
import {
  ContractError,
  type ContractEvent,
  type Loss,
  type ModuleContract,
  type Outcome,
  type OutcomeError,
  type ToolDescription,
} from "../../../kernel/tool/contracts/contract.ts";

/** The header of Amplifier's tool contract, which names the supported version. */
export const AMPLIFIER_CONTRACT = Object.freeze({
  contract_type: "module_specification",
  module_type: "tool",
  contract_version: "1.0.0",
});

/** The description of a tool for models. */
export interface AmplifierDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema; `{}` for any input. */
  readonly input_schema: { readonly [key: string]: unknown };
  /** Maximum characters of a text output; a longer one is cut. Default: no limit. */
  readonly max_output_chars?: number;
}

export interface AmplifierCall {
  /** Id of the call's result; empty if the caller has none. */
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** An error: a `message`, the `type` of an exception, and the tool's own fields. */
export interface AmplifierError {
  readonly message?: string;
  readonly type?: string;
  readonly [key: string]: unknown;
}

export interface AmplifierResult {
  readonly success: boolean;
  readonly output: unknown;
  readonly error: AmplifierError | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The events of a call for Amplifier's hooks. `tool_call_id` is the same in all events of a call. */
export type AmplifierEvent =
  | {
      readonly event: "tool:pre";
      readonly data: {
        readonly tool_name: string;
        readonly tool_call_id: string;
        readonly input: Readonly<Record<string, unknown>>;
      };
    }
  | {
      readonly event: "tool:post";
      readonly data: { readonly tool_name: string; readonly tool_call_id: string; readonly result: AmplifierResult };
    }
  | {
      readonly event: "tool:error";
      readonly data: { readonly tool_name: string; readonly tool_call_id: string; readonly error: AmplifierError };
    };

/** An unchecked JSON object. */
type Fields = Readonly<Record<string, unknown>>;

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const CALL_ID_MAX = 256;
const DESCRIPTION_MAX = 10_000;
const UNKNOWN_ERROR = "Unknown error";
const ANY_ARGUMENTS: JsonSchema = Object.freeze({ type: "object" });

const LOSSES: readonly Loss[] = [
  { of: "tool", field: "version", why: "A definition has no version." },
  { of: "tool", field: "tags", why: "A definition has no tags." },
  { of: "tool", field: "outputSchema", why: "Only inputs have a schema." },
  { of: "tool", field: "annotations", why: "A definition has no annotations." },
  { of: "tool", field: "limits", why: "A definition has no limits." },
  { of: "tool", field: "retries", why: "A definition has no retries." },
  { of: "tool", field: "inputSchema", why: "It is an object, and `{}` is any arguments." },
  { of: "call", field: "command", why: "A tool has no commands." },
  {
    of: "result",
    field: "error.details",
    why: "They are fields of the error: what is no object is read as { details }.",
  },
];

/** Amplifier's tool contract 1.0.0. A module's `mount(coordinator, config)` mounts its tools, or returns one. */
export const amplifier: ModuleContract<AmplifierDefinition, AmplifierCall, AmplifierResult, AmplifierEvent> = {
  name: "amplifier",
  losses: LOSSES,
  readTool: (definition) => readTool(definition, ""),
  writeTool,
  readCall,
  writeCall: ({ id = "", name, arguments: args }) => ({ id, name, arguments: args }),
  outputAt: "/output",
  readResult,
  writeResult,
  writeEvent,
  readModule,
  mayBeEmpty: true,
  pythonForms: ["mount"],
};

/**
 * Fills in the defaults of a result: success, no output, no error, and its own metadata. Parsed messages have no such
 * defaults: they must contain `success`.
 */
export function toolResult(fields: Partial<AmplifierResult> = {}): AmplifierResult {
  const { success = true, output = null, error = null, metadata } = fields;
  return { success, output, error, metadata: { ...metadata } };
}

/** A result as text for a model: its output, as JSON if not a string, or `Error:` and the message. */
export function serializedOutput({ success, output, error }: AmplifierResult): string {
  if (error !== null && (!success || Object.keys(error).length > 0)) return `Error: ${error.message ?? UNKNOWN_ERROR}`;
  if (typeof output === "string") return output;
  return output === null || output === undefined ? "" : (JSON.stringify(withoutControl(output)) ?? "");
}

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Removes control characters from a JSON value's strings, except line ends and tabs. */
function withoutControl(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll(CONTROL, "");
  if (Array.isArray(value)) return value.map(withoutControl);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key.replaceAll(CONTROL, ""), withoutControl(one)]),
  );
}

function readTool(definition: unknown, pointer: string): ToolDescription {
  const { name, description, input_schema: schema, max_output_chars: outputChars } = objectAt(definition, pointer);
  if (typeof name !== "string" || !NAME.test(name)) {
    throw wrong(`${pointer}/name`, "must be 1 to 128 of A-Z a-z 0-9 _ . -");
  }
  if (typeof description !== "string" || description === "" || description.length > DESCRIPTION_MAX) {
    throw wrong(`${pointer}/description`, `must be a text of 1 to ${DESCRIPTION_MAX} characters`);
  }
  const tool = { name, description, inputSchema: readSchema(schema, `${pointer}/input_schema`) };
  if (outputChars === undefined || outputChars === null) return tool;
  if (typeof outputChars !== "number" || !Number.isSafeInteger(outputChars) || outputChars < 1) {
    throw wrong(`${pointer}/max_output_chars`, "must be a whole number above 0");
  }
  return { ...tool, outputChars };
}

/** A tool without an input schema accepts any input. */
function readSchema(schema: unknown, pointer: string): JsonSchema {
  if (schema === undefined || schema === null) return ANY_ARGUMENTS;
  const found = objectAt(schema, pointer);
  return Object.keys(found).length === 0 ? ANY_ARGUMENTS : found;
}

function writeTool({ name, description, inputSchema, outputChars }: ToolDescription): AmplifierDefinition {
  // A schema must be an object here, so `false` becomes a schema that nothing matches.
  const schema = typeof inputSchema === "boolean" ? (inputSchema ? {} : { not: {} }) : inputSchema;
  return {
    name,
    description,
    input_schema: schema,
    ...(outputChars === undefined ? {} : { max_output_chars: outputChars }),
  };
}

function readCall(message: unknown): ToolCall {
  const { id, name, arguments: args } = objectAt(message, "");
  if (typeof id !== "string" || id.length > CALL_ID_MAX) {
    throw wrong("/id", `must be a text of at most ${CALL_ID_MAX} characters`);
  }
  if (typeof name !== "string") throw wrong("/name", "must be a text");
  const call = { name, arguments: { ...objectAt(args, "/arguments") } };
  return id === "" ? call : { id, ...call };
}

function readResult(message: unknown): Outcome {
  const { success, output = null, error = null, metadata = null } = objectAt(message, "");
  if (typeof success !== "boolean") throw wrong("/success", "must be true or false");
  const said = metadata === null ? {} : objectAt(metadata, "/metadata");
  const extra = Object.keys(said).length === 0 ? {} : { metadata: said };
  const failed = error === null ? { message: UNKNOWN_ERROR } : readError(objectAt(error, "/error"));
  if (success) return { ok: true, output, ...extra };
  return { ok: false, error: failed, ...(output === null ? {} : { output }), ...extra };
}

function readError(error: Fields): OutcomeError {
  const own: Record<string, unknown> = {};
  const rest = new Map<string, unknown>();
  for (const [key, value] of Object.entries(error)) {
    if (key === "message" && typeof value !== "string") throw wrong("/error/message", "must be a text");
    if (isOwnField(key, value)) own[key] = value;
    else rest.set(key, value);
  }
  const { message = UNKNOWN_ERROR, details, ...others } = own as Partial<OutcomeError>;
  if (details !== undefined && rest.size === 0 && isObject(details)) return { message, ...others, details };
  if (details !== undefined) rest.set("details", details);
  return { message, ...others, ...(rest.size === 0 ? {} : { details: Object.fromEntries(rest) }) };
}

/** Whether an error's field has the engine's meaning; otherwise it is the tool's own field of that name. */
function isOwnField(key: string, value: unknown): boolean {
  switch (key) {
    case "message":
    case "details":
      return true;
    case "type":
      return typeof value === "string";
    case "code":
      return isErrorCode(value);
    case "retryable":
      return typeof value === "boolean";
    default:
      return false;
  }
}

function writeResult({ success, output, error, metadata }: ToolResult): AmplifierResult {
  return { success, output, error: error === null ? null : writeError(error), metadata: { ...metadata } };
}

/** Keeps the tool's own fields of its failure; adds only fields that differ from the error code's defaults. */
function writeError({ code, type, message, retryable, details }: ToolError): AmplifierError {
  const entry = ERRORS[code];
  const isTools = code === "tool_error";
  const said = {
    message,
    ...(isTools && type === entry.type ? {} : { type }),
    ...(isTools ? {} : { code }),
    ...(retryable === entry.retryable ? {} : { retryable }),
  };
  if (details === undefined) return said;
  const own = isObject(details) ? Object.entries(details) : [];
  const isPlain = own.length > 0 && own.every(([key, one]) => !isOwnField(key, one) && !(key in said));
  return { ...said, ...(isPlain ? Object.fromEntries(own) : { details }) };
}

function writeEvent(event: ContractEvent): AmplifierEvent {
  const { name, tool } = event;
  if (name === "tool:pre") {
    return { event: name, data: { tool_name: tool, tool_call_id: event.call.id, input: event.call.arguments } };
  }
  const { result } = event;
  const about = { tool_name: tool, tool_call_id: result.metadata.callId };
  if (name === "tool:post") return { event: name, data: { ...about, result: writeResult(result) } };
  return {
    event: name,
    data: { ...about, error: result.error === null ? { message: UNKNOWN_ERROR } : writeError(result.error) },
  };
}

/**
 * The tools mounted by `mount`, then the one that it returned. Mounting under the same name again replaces the earlier
 * tool; two tools that declare the same name are refused, because callers could not distinguish them.
 */
function readModule(described: unknown): readonly ToolDescription[] {
  const { mounts, returned, returned_tool } = objectAt(described, "");
  if (!Array.isArray(mounts)) throw wrong("/mounts", "must be a list");
  const mounted = new Map<string, ToolDescription>();
  for (const [index, mount] of mounts.entries()) {
    const pointer = `/mounts${pointerSegment(index)}`;
    const { mount_point, name, tool } = objectAt(mount, pointer);
    if (mount_point !== "tools") continue;
    const found = readMounted(tool, `${pointer}/tool`);
    const key = typeof name === "string" ? name : found.name;
    mounted.delete(key);
    if ([...mounted.values()].some((other) => other.name === found.name)) {
      throw wrong(`${pointer}/tool/name`, `"${found.name}" is the name of another tool that is mounted`);
    }
    mounted.set(key, found);
  }
  const tools = [...mounted.values()];
  if (returned !== "tool") return tools;
  const found = readMounted(returned_tool, "/returned_tool");
  return tools.some(({ name }) => name === found.name) ? tools : [...tools, found];
}

function readMounted(tool: unknown, pointer: string): ToolDescription {
  if (objectAt(tool, pointer)["is_tool"] !== true)
    throw wrong(pointer, "must have name, description and execute(input)");
  return readTool(tool, pointer);
}

function objectAt(value: unknown, pointer: string): Fields {
  if (!isObject(value)) throw wrong(pointer, "must be an object");
  return value;
}

function wrong(pointer: string, problem: string): ContractError {
  return new ContractError("amplifier", pointer, problem);
}
