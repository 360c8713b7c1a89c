import { isObject, type JsonSchema } from "../../../kernel/base/json.ts";
import { isErrorCode } from "../../../kernel/base/errors.ts";
import type { ToolCall, ToolResult } from "../../../kernel/base/result.ts";
import {
  type JsonMembers,
  memberOf,
  type Members,
  type Place,
  readJsonMembers,
  readMembers,
  readOptional,
  readText,
  wrong,
} from "./reading.ts";
import { managementOf, readRecord, type RegistrationRecord, runtimeOf } from "./record.ts";
import { type Fields, fieldsOf, writeSchema } from "./spec.ts";
import type {
  Loss,
  ModuleContract,
  ModuleReader,
  Outcome,
  OutcomeError,
  ToolDescription,
} from "../../../kernel/tool/contracts/contract.ts";

/** The message to a tool: its input, or one of its commands with its data. */
export type AgentSpaceCall =
  | { readonly tool_id: string; readonly mode: "input"; readonly input: Members }
  | { readonly tool_id: string; readonly mode: "command"; readonly command_name: string; readonly data: Members };

/** A failure as data. It has exactly these members, to distinguish it from a tool's output. */
export interface AgentSpaceFailure {
  readonly status: "error";
  readonly error: OutcomeError;
}

const NAME_MAX_CHARACTERS = 256;
const COMMANDS_MAX = 100;
const ANYTHING: JsonSchema = { type: "object" };

const SAYS_LESS = "a specification has types, bounds of numbers, defaults, choices and nested fields, and no more";
const LOSSES: readonly Loss[] = [
  { of: "tool", field: "inputSchema", why: SAYS_LESS },
  { of: "tool", field: "outputSchema", why: SAYS_LESS },
  { of: "tool", field: "annotations", why: "a record says nothing of what a tool does to the world" },
  { of: "tool", field: "limits", why: "a specification manages the timeout, which is limits.wallMs, and no other" },
  { of: "tool", field: "outputChars", why: "a specification says nothing of how long an answer is" },
  { of: "call", field: "id", why: "a tool is not told which call it answers" },
  { of: "result", field: "metadata", why: "an answer is the tool's output and nothing else" },
  { of: "result", field: "output", why: "a tool that failed has no output" },
];

/** For engines. The return value of a tool is its output, so there is no reader of results. */
export const agentspaceReader: ModuleReader = {
  name: "agentspace",
  readModule,
  // The registration record of a tool sets its retries, for every kind of failure.
  retryOn: "failure",
  // It is the tool's `tool_data`.
  hidesConfig: true,
  pythonForms: ["a class AgentSpaceV1Tool"],
  readCommands,
  records: {
    title: "AgentSpace",
    form: "the class AgentSpaceV1Tool with a method execute(input)",
    configOf: toolData,
    readTool: (record, isBinary) => {
      requireRuntime(record, isBinary);
      return readTool(record);
    },
  },
};

/**
 * AgentSpace's contract: a registration record describes a tool, whose input and output are objects. A module exports a
 * class `AgentSpaceV1Tool`; the class itself shows only whether it has `execute` and `execute_command`.
 */
export const agentspace: ModuleContract<RegistrationRecord, AgentSpaceCall, unknown, never> = {
  ...agentspaceReader,
  losses: LOSSES,
  readTool,
  writeTool,
  readCall,
  writeCall,
  readResult,
  writeResult,
  writeEvent: () => null,
};

/** The constructor argument of the class: the record's `tool_data`. Throws a `ContractError` if that is not an object. */
function toolData(record: unknown): JsonMembers {
  const place: Place = { value: record, pointer: "" };
  return readOptional(memberOf(readMembers(place), place, "tool_data"), readJsonMembers) ?? {};
}

/** Throws a `ContractError` if a record's runtime differs from that of its package. */
function requireRuntime(value: unknown, isBinary: boolean): void {
  const record = readRecord(value);
  if (runtimeOf(record) === (isBinary ? "binary" : "interpreted")) return;
  const what = isBinary ? "a binary" : "no binary";
  const problem = `is ${record.tool_runtime_type}, but the package's code is ${what}`;
  throw wrong({ value, pointer: "/tool_runtime_type" }, problem);
}

function readTool(value: unknown): ToolDescription {
  const record = readRecord(value);
  const { tool_metadata: metadata = {}, tools_api_spec: spec } = record;
  const { wallMs, retries } = managementOf(spec);
  return {
    name: record.tool_id,
    description: metadata.description ?? record.tool_search_description ?? record.tool_id,
    ...(metadata.version === undefined ? {} : { version: metadata.version }),
    ...(record.tool_tags === undefined ? {} : { tags: record.tool_tags }),
    inputSchema: writeSchema(spec.input),
    outputSchema: writeSchema(spec.output),
    ...(wallMs === undefined ? {} : { limits: { wallMs } }),
    ...(retries === undefined ? {} : { retries }),
  };
}

function writeTool(tool: ToolDescription): RegistrationRecord {
  const { name, description, version, tags, inputSchema, outputSchema, limits, retries } = tool;
  const management: Fields = {
    ...(limits?.wallMs === undefined
      ? {}
      : { timeout: { type: "number", default: limits.wallMs / 1_000, description: "Execution timeout in seconds" } }),
    ...(retries === undefined
      ? {}
      : { retries: { type: "number", default: retries, description: "Number of times to retry on failure" } }),
  };
  return {
    tool_id: name,
    tool_metadata: { ...(version === undefined ? {} : { version }), language: "javascript", description },
    tool_search_description: description,
    ...(tags === undefined ? {} : { tool_tags: tags }),
    tool_runtime_type: "javascript",
    tools_api_spec: {
      input: fieldsOf(inputSchema),
      output: fieldsOf(outputSchema),
      ...(Object.keys(management).length === 0 ? {} : { management }),
    },
    tool_data: {},
    // A record must have an address, and a tool registered here has none.
    tool_source_code_link: `glovebox:${name}`,
  };
}

function readCall(message: unknown): ToolCall {
  const place: Place = { value: message, pointer: "" };
  const members = readMembers(place);
  const at = (name: string): Place => memberOf(members, place, name);
  const name = readText(at("tool_id"), NAME_MAX_CHARACTERS);
  switch (at("mode").value) {
    case undefined:
    case "input":
      return { name, arguments: { ...readMembers(at("input")) } };
    case "command": {
      const command = readText(at("command_name"), NAME_MAX_CHARACTERS);
      return { name, command, arguments: { ...readOptional(at("data"), readMembers) } };
    }
    default:
      throw wrong(at("mode"), "must be input or command");
  }
}

function writeCall({ name, arguments: args, command }: ToolCall): AgentSpaceCall {
  if (command === undefined) return { tool_id: name, mode: "input", input: args };
  return { tool_id: name, mode: "command", command_name: command, data: args };
}

/** The message is the tool's output itself; a command's output may be any value. */
function readResult(message: unknown): Outcome {
  const error = failureOf(message);
  return error === undefined ? { ok: true, output: message } : { ok: false, error };
}

/** The error of an `AgentSpaceFailure`; `undefined` for a message of any other form. */
function failureOf(message: unknown): OutcomeError | undefined {
  if (!isObject(message) || message["status"] !== "error" || Object.keys(message).length !== 2) return undefined;
  if (!isObject(message["error"])) return undefined;
  const { type, message: text, code, retryable, details } = message["error"];
  if (typeof text !== "string") return undefined;
  return {
    message: text,
    ...(typeof type === "string" ? { type } : {}),
    ...(isErrorCode(code) ? { code } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
    ...(isObject(details) ? { details } : {}),
  };
}

function writeResult({ success, output, error }: ToolResult): unknown {
  if (success || error === null) return output;
  const { code, type, message, retryable, details } = error;
  const failure: AgentSpaceFailure = {
    status: "error",
    error: { type, message, code, retryable, ...(isObject(details) ? { details } : {}) },
  };
  return failure;
}

/** The commands of a module, from its description of itself; `undefined` if it has none. */
function readCommands(described: unknown): readonly string[] | undefined {
  if (!isObject(described) || described["has_command"] !== true) return undefined;
  const { commands } = described;
  const texts = (Array.isArray(commands) ? (commands as unknown[]) : []).filter((one) => typeof one === "string");
  const named = texts.filter((one) => one !== "" && one.length <= NAME_MAX_CHARACTERS);
  return Object.freeze([...new Set(named)].slice(0, COMMANDS_MAX));
}

function readModule(described: unknown, name: string): readonly ToolDescription[] {
  const place: Place = { value: described, pointer: "" };
  const has = memberOf(readMembers(place), place, "has_execute");
  if (has.value !== true) throw wrong(has, "the class AgentSpaceV1Tool has no method execute");
  return [{ name, description: `The AgentSpace tool ${name}`, inputSchema: ANYTHING, outputSchema: ANYTHING }];
}
