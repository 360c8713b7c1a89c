import { isObject, type JsonSchema } from "../../../kernel/base/json.ts";
import type { ToolCall, ToolResult } from "../../../kernel/base/result.ts";
import { type ContentBlock, describeMalformedBlock } from "../../../kernel/base/schema/content-blocks.ts";
import {
  ContractError,
  type Loss,
  type ModuleContract,
  type Outcome,
  type ToolDescription,
} from "../../../kernel/tool/contracts/contract.ts";
import { readBlocks, writeBlocks } from "./content.ts";

/** A tool's definition, exported by a module as `TOOL_SPEC`. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly json: JsonSchema };
}

/** A call. `toolUseId` is the caller's id, `""` if it has none. */
export interface ToolUse {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: Record<string, unknown>;
}

/** A tool's result. If it failed, the first block is the message. */
export interface StrandsResult {
  readonly toolUseId: string;
  readonly status: "success" | "error";
  readonly content: readonly ContentBlock[];
}

const ANYTHING: JsonSchema = { type: "object" };
const NO_MESSAGE = "the tool failed and did not say why";

const NO_PLACE = "a tool's specification has a name, a description and an input schema only";
const MESSAGE_ONLY = "a failure is its message";
const LOSSES: readonly Loss[] = [
  { of: "tool", field: "version", why: NO_PLACE },
  { of: "tool", field: "tags", why: NO_PLACE },
  { of: "tool", field: "outputSchema", why: NO_PLACE },
  { of: "tool", field: "annotations", why: NO_PLACE },
  { of: "tool", field: "limits", why: NO_PLACE },
  { of: "tool", field: "retries", why: NO_PLACE },
  { of: "tool", field: "outputChars", why: NO_PLACE },
  { of: "call", field: "command", why: "a tool is one function" },
  { of: "result", field: "error.type", why: MESSAGE_ONLY },
  { of: "result", field: "error.code", why: MESSAGE_ONLY },
  { of: "result", field: "error.retryable", why: MESSAGE_ONLY },
  { of: "result", field: "error.details", why: MESSAGE_ONLY },
  { of: "result", field: "metadata", why: "a result is its content" },
];

/** The contract of Strands' tools: modules that export `TOOL_SPEC` and a function of its name, or tools of the SDK. */
export const strands: ModuleContract<ToolSpec, ToolUse, StrandsResult> = {
  name: "strands",
  losses: LOSSES,
  readTool,
  writeTool: ({ name, description, inputSchema }) => ({ name, description, inputSchema: { json: inputSchema } }),
  readCall,
  writeCall: ({ id = "", name, arguments: input }) => ({ toolUseId: id, name, input }),
  outputAt: "/content",
  readResult,
  writeResult,
  writeEvent: () => null,
  readModule,
  pythonForms: ["a TOOL_SPEC with its function", "functions with @tool"],
};

/** Requires only a name; linters report other missing fields. */
function readTool(definition: unknown): ToolDescription {
  return readSpec(definition, "");
}

function readSpec(definition: unknown, place: string): ToolDescription {
  if (!isObject(definition)) throw wrong(place, "a TOOL_SPEC must be an object");
  const { name, description = "", inputSchema } = definition;
  if (typeof name !== "string" || name === "") throw wrong(`${place}/name`, "must be a string, and not empty");
  if (typeof description !== "string") throw wrong(`${place}/description`, "must be a string");
  return { name, description, inputSchema: readInputSchema(inputSchema, `${place}/inputSchema`) };
}

function readInputSchema(given: unknown, place: string): JsonSchema {
  if (given === undefined) return ANYTHING;
  if (!isObject(given)) throw wrong(place, "must be an object such as { json: { type: 'object' } }");
  // The SDK accepts an unwrapped schema as well.
  const { json = isObject(given["properties"]) ? given : undefined } = given;
  if (!isObject(json) && typeof json !== "boolean") throw wrong(`${place}/json`, "must be a JSON Schema");
  return json;
}

/**
 * The tool of `TOOL_SPEC`, and those of the SDK, each of which describes itself. One of the SDK takes precedence over
 * another of its name.
 */
function readModule(described: unknown): readonly ToolDescription[] {
  const hasSpec = isObject(described) && Object.hasOwn(described, "TOOL_SPEC");
  const sdk: unknown = isObject(described) ? described["tools"] : undefined;
  if (!hasSpec && sdk === undefined) throw wrong("", "the module exports no TOOL_SPEC");
  const tools = (Array.isArray(sdk) ? sdk : []).map((spec, index) => readSpec(spec, `/tools/${index}`));
  if (!hasSpec) return tools;
  const own = readSpec(described["TOOL_SPEC"], "/TOOL_SPEC");
  if (tools.some(({ name }) => name === own.name)) return tools;
  if (described["function"] !== true) {
    throw wrong("/function", `the module exports no function ${JSON.stringify(own.name.slice(0, 128))}`);
  }
  return [own, ...tools];
}

function readCall(message: unknown): ToolCall {
  if (!isObject(message)) throw wrong("", "a tool use must be an object");
  const { toolUseId = "", name, input = {} } = message;
  if (typeof toolUseId !== "string") throw wrong("/toolUseId", "must be a string");
  if (typeof name !== "string" || name === "") throw wrong("/name", "must be a string, and not empty");
  if (!isObject(input)) throw wrong("/input", "must be an object");
  return { ...(toolUseId === "" ? {} : { id: toolUseId }), name, arguments: input };
}

/** A malformed result becomes a failure of the tool instead of an exception for the reader. */
function readResult(message: unknown): Outcome {
  const problem = describeMalformed(message);
  if (problem !== null) {
    const text = `the tool's result is malformed: ${problem}`;
    return { ok: false, error: { type: "InvalidOutputError", message: text, code: "invalid_output" } };
  }
  const { status, content } = message as StrandsResult;
  if (status === "success") return { ok: true, ...readBlocks(content) };
  const at = content.findIndex((block) => "text" in block);
  const said = content[at];
  const error = { message: said !== undefined && "text" in said ? said.text : NO_MESSAGE };
  const others = content.filter((_block, index) => index !== at);
  return others.length === 0 ? { ok: false, error } : { ok: false, error, ...readBlocks(others) };
}

/** The problem of a malformed result; `null` if it is valid. */
function describeMalformed(message: unknown): string | null {
  if (!isObject(message)) return "it must be an object { toolUseId, status, content }";
  const { status, content } = message;
  if (status !== "success" && status !== "error") return '/status must be "success" or "error"';
  if (!Array.isArray(content)) return "/content must be a list of blocks";
  for (const [index, block] of content.entries()) {
    const problem = describeMalformedBlock(block);
    if (problem !== null) return `/content/${index} ${problem}`;
  }
  return null;
}

function writeResult({ success, output, error, metadata }: ToolResult): StrandsResult {
  const blocks = writeBlocks(output, metadata);
  const toolUseId = metadata.callId;
  if (success) return { toolUseId, status: "success", content: blocks };
  return { toolUseId, status: "error", content: [{ text: error?.message ?? NO_MESSAGE }, ...blocks] };
}

function wrong(pointer: string, problem: string): ContractError {
  return new ContractError("strands", pointer, problem);
}
