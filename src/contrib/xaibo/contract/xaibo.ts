import { isObject } from "../../../kernel/base/json.ts";
import type { ToolCall, ToolResult } from "../../../kernel/base/result.ts";
import {
  ContractError,
  type Loss,
  type ModuleContract,
  type Outcome,
  type ToolDescription,
} from "../../../kernel/tool/contracts/contract.ts";
import { fromSchema, readParameters, type ToolParameters, toSchema } from "./parameters.ts";

export type { ParameterType, ToolParameter, ToolParameters } from "./parameters.ts";

/** A tool as a provider lists it. */
export interface XaiboTool {
  readonly name: string;
  readonly description: string;
  /** Keyed by name. Default: none. */
  readonly parameters?: ToolParameters;
}

/** A model's call. */
export interface XaiboCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments: { readonly [name: string]: unknown };
}

/** The result of a call. `error` is a text, present if `success` is false. */
export interface XaiboResult {
  readonly success: boolean;
  readonly result?: unknown;
  readonly error?: string | null;
}

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const ID_LENGTH_MAX = 256;
const DESCRIPTION_LENGTH_MAX = 10_000;
const TOOLS_MAX = 1_000;

const NO_PLACE = "a tool is a name, a description and parameters";
const ONLY_TEXT = "an error is text";

const losses: readonly Loss[] = [
  {
    of: "tool",
    field: "inputSchema",
    why: "a parameter has one of six types, a description, a default, and strings that are allowed; all else of a schema has no place, nor has what a schema says of the arguments as a whole",
  },
  ...["version", "tags", "outputSchema", "annotations", "limits", "retries", "outputChars"].map((field): Loss => ({
    of: "tool",
    field,
    why: NO_PLACE,
  })),
  ...["error.type", "error.code", "error.retryable", "error.details"].map((field): Loss => ({
    of: "result",
    field,
    why: ONLY_TEXT,
  })),
  { of: "call", field: "command", why: "a tool is one function" },
  { of: "result", field: "metadata", why: "a result is success, result and error" },
];

/** The contract of Xaibo's tool providers. A module exports a class with `list_tools` and `execute_tool`. */
export const xaibo: ModuleContract<XaiboTool, XaiboCall, XaiboResult, never> = {
  name: "xaibo",
  losses,
  readTool: (definition) => readTool(definition, ""),
  writeTool: ({ name, description, inputSchema }) => ({ name, description, parameters: fromSchema(inputSchema) }),
  readCall,
  writeCall: ({ id, name, arguments: args }) => ({ ...(id === undefined ? {} : { id }), name, arguments: args }),
  outputAt: "/result",
  readResult,
  writeResult,
  writeEvent: () => null,
  readModule,
  pythonForms: ["a tool provider"],
};

function readTool(definition: unknown, pointer: string): ToolDescription {
  if (!isObject(definition)) throw wrong(pointer, "must be an object with a name, a description and parameters");
  const { name, description, parameters } = definition;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw wrong(`${pointer}/name`, "must be 1 to 128 of A-Z a-z 0-9 _ . -");
  }
  if (typeof description !== "string" || description === "" || description.length > DESCRIPTION_LENGTH_MAX) {
    throw wrong(`${pointer}/description`, `must be a string of 1 to ${DESCRIPTION_LENGTH_MAX} characters`);
  }
  return { name, description, inputSchema: toSchema(readParameters(parameters, `${pointer}/parameters`)) };
}

function readCall(message: unknown): ToolCall {
  if (!isObject(message)) throw wrong("", "must be an object with a name and arguments");
  const { id = null, name, arguments: args } = message;
  if (id !== null && (typeof id !== "string" || id === "" || id.length > ID_LENGTH_MAX)) {
    throw wrong("/id", `must be a string of 1 to ${ID_LENGTH_MAX} characters`);
  }
  if (typeof name !== "string" || name === "") throw wrong("/name", "must be the name of a tool");
  if (!isObject(args)) throw wrong("/arguments", "must be an object of values by the names of parameters");
  return { ...(id === null ? {} : { id }), name, arguments: { ...args } };
}

function readResult(message: unknown): Outcome {
  if (!isObject(message)) throw wrong("", "must be an object with success, and result or error");
  const { success, result = null, error = null } = message;
  if (typeof success !== "boolean") throw wrong("/success", "must be true or false");
  if (error !== null && typeof error !== "string") throw wrong("/error", "must be a string");
  if (success) return { ok: true, output: result };
  const failed = { message: error ?? "the tool failed, and gave no error" };
  return { ok: false, error: failed, ...(result === null ? {} : { output: result }) };
}

function writeResult({ success, output, error }: ToolResult): XaiboResult {
  if (success) return { success, result: output, error: null };
  return { success, result: output, error: error?.message ?? "the call failed" };
}

/** The tools of a provider. Names must be unique, because calls identify a tool by its name only. */
function readModule(described: unknown): readonly ToolDescription[] {
  const tools = isObject(described) ? described["tools"] : undefined;
  if (!Array.isArray(tools)) throw wrong("/tools", "must be the list that list_tools answers");
  if (tools.length > TOOLS_MAX) throw wrong("/tools", `has more than ${TOOLS_MAX} tools`);
  const seen = new Set<string>();
  return tools.map((definition: unknown, at) => {
    const tool = readTool(definition, `/tools/${at}`);
    if (seen.has(tool.name)) throw wrong(`/tools/${at}/name`, `is "${tool.name}", as is another tool's`);
    seen.add(tool.name);
    return tool;
  });
}

function wrong(pointer: string, problem: string): ContractError {
  return new ContractError("xaibo", pointer, problem);
}
