import { writableOutput } from "../../base/result.ts";
import { isObject } from "../../base/json.ts";
import type { Contract, Outcome, ToolAnnotations } from "./contract.ts";
import { readError, writeError } from "./error-record.ts";
import { lost, NO_COMMANDS } from "./losses.ts";
import { contentOf, type McpBlock } from "./mcp-content.ts";
import { mcpSchemas } from "./mcp-schema.ts";
import type { ObjectSchema } from "./object-schema.ts";
import { Reader } from "./reader.ts";
import { failureTexts, outputOf, textOf } from "./text-form.ts";

/** A tool in the result of `tools/list`. */
export type McpTool = {
  name: string;
  title?: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: { [key: string]: unknown };
  annotations?: McpAnnotations;
  _meta?: { [key: string]: unknown };
};

export type McpAnnotations = {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
};

/** The `params` of `tools/call`. The call's id is that of the JSON-RPC request, not part of `params`. */
export type McpCall = { name: string; arguments: Record<string, unknown> };

/** The result of `tools/call`. */
export type McpResult = {
  content: McpBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: { [key: string]: unknown };
};

const read = new Reader("mcp");

/**
 * Keys in `_meta` for data without a field in the protocol: the tool's other properties, and the details of a failure.
 */
const TOOL_META = "glovebox/tool";
const ERROR_META = "glovebox/error";

const HINTS = [
  ["readOnly", "readOnlyHint"],
  ["destructive", "destructiveHint"],
  ["idempotent", "idempotentHint"],
  ["openWorld", "openWorldHint"],
] as const;

/** Tools of the Model Context Protocol. */
export const mcp: Contract<McpTool, McpCall, McpResult, never> = {
  name: "mcp",
  losses: [
    ...lost("tool", "how a tool is run is its server's own business", "limits", "retries", "outputChars"),
    ...lost("tool", "a schema of arguments says that it is an object's", "inputSchema"),
    ...lost(
      "tool",
      "there is no place for a schema that is `true` or `false`, or that clients misread",
      "outputSchema",
    ),
    ...lost("call", "the id is the request's", "id"),
    NO_COMMANDS,
    ...lost("result", "what a call cost is its server's own business", "metadata"),
    ...lost("result", "what a failed tool had made is told as text, and read as what that stands for", "output"),
    ...lost("result", "content is read as its blocks, whatever had held them", "output"),
  ],
  readTool(definition) {
    const tool = read.object(definition, "");
    const { outputSchema } = tool;
    const annotations = readAnnotations(tool);
    const meta = isObject(tool["_meta"]) ? tool["_meta"][TOOL_META] : undefined;
    const { version, tags } = isObject(meta) ? meta : {};
    return {
      name: read.name(tool["name"], "/name"),
      description: read.description(tool["description"], "/description"),
      ...(version === undefined ? {} : { version: read.string(version, `/_meta/${TOOL_META}/version`) }),
      ...(tags === undefined ? {} : { tags: read.strings(tags, `/_meta/${TOOL_META}/tags`) }),
      inputSchema: read.object(tool["inputSchema"], "/inputSchema"),
      ...(outputSchema === undefined ? {} : { outputSchema: read.object(outputSchema, "/outputSchema") }),
      ...(annotations === undefined ? {} : { annotations }),
    };
  },
  writeTool({ name, description, inputSchema, outputSchema, annotations, version, tags }) {
    const schemas = mcpSchemas(inputSchema, outputSchema);
    const meta = {
      ...(version === undefined ? {} : { version }),
      ...(tags === undefined || tags.length === 0 ? {} : { tags }),
    };
    return {
      name,
      ...(annotations?.title === undefined ? {} : { title: annotations.title }),
      description,
      inputSchema: schemas.inputSchema,
      ...(schemas.outputSchema === undefined ? {} : { outputSchema: schemas.outputSchema }),
      ...writeHints(annotations),
      ...(Object.keys(meta).length === 0 ? {} : { _meta: { [TOOL_META]: meta } }),
    };
  },
  readCall(message) {
    const call = read.object(message, "");
    return { name: read.string(call["name"], "/name"), arguments: read.arguments(call["arguments"], "/arguments") };
  },
  writeCall: ({ name, arguments: given }) => ({ name, arguments: given }),
  readResult(message) {
    const result = read.object(message, "");
    const content = read.list(result["content"] ?? [], "/content").map((each, at) => readBlock(each, `/content/${at}`));
    if (result["isError"] === true) return readFailure(content, result["_meta"]);
    if (result["structuredContent"] !== undefined) return { ok: true, output: result["structuredContent"] };
    return { ok: true, output: oneOrAll(content) };
  },
  writeResult(result) {
    const { error, output } = result;
    const content = contentOf(output);
    if (error !== null) {
      const texts = failureTexts(error.message, content === null ? writableOutput(result) : null);
      const blocks = texts.map((text) => ({ type: "text" as const, text }));
      return {
        content: [...blocks, ...(content?.content ?? [])],
        isError: true,
        _meta: { [ERROR_META]: writeError(error) },
      };
    }
    if (content !== null) return { ...content };
    const said = typeof output === "string" ? {} : { structuredContent: output ?? null };
    return { content: [{ type: "text", text: textOf(writableOutput(result)) }], ...said };
  },
  writeEvent: () => null,
};

/** The text of a text block; other blocks, such as images, stay unchanged. */
function readBlock(value: unknown, pointer: string): unknown {
  const block = read.object(value, pointer);
  return block["type"] === "text" ? read.string(block["text"], `${pointer}/text`) : block;
}

function readFailure(content: readonly unknown[], meta: unknown): Outcome {
  const [first = "Unknown error", ...rest] = content;
  const known = isObject(meta) ? meta[ERROR_META] : undefined;
  const error = readError(isObject(known) ? { ...known, message: known["message"] ?? first } : first);
  return rest.length === 0 ? { ok: false, error } : { ok: false, error, output: oneOrAll(rest.map(valueOf)) };
}

const valueOf = (block: unknown): unknown => (typeof block === "string" ? outputOf(block) : block);

function oneOrAll(blocks: readonly unknown[]): unknown {
  return blocks.length === 1 ? blocks[0] : blocks;
}

function writeHints(annotations: ToolAnnotations = {}): { annotations?: McpAnnotations } {
  const hints = HINTS.flatMap(([ours, theirs]) =>
    annotations[ours] === undefined ? [] : [[theirs, annotations[ours]]],
  );
  return hints.length === 0 ? {} : { annotations: Object.fromEntries(hints) };
}

function readAnnotations(tool: Readonly<Record<string, unknown>>): ToolAnnotations | undefined {
  const said = tool["annotations"] === undefined ? undefined : read.object(tool["annotations"], "/annotations");
  const title = tool["title"] ?? said?.["title"];
  if (said === undefined && title === undefined) return undefined;
  const hints = HINTS.flatMap(([ours, theirs]) =>
    typeof said?.[theirs] === "boolean" ? [[ours, said[theirs]] as const] : [],
  );
  return { ...(title === undefined ? {} : { title: read.string(title, "/title") }), ...Object.fromEntries(hints) };
}
