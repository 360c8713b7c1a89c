import { isObject, type JsonSchema, memberOf } from "../../../kernel/base/json.ts";
import type { ToolResult } from "../../../kernel/base/result.ts";
import { AiSchema } from "./ai-schema.ts";
import { readAnnotations } from "../../../kernel/tool/contracts/annotations.ts";
import type { Contract } from "../../../kernel/tool/contracts/contract.ts";
import { readError, writeError } from "../../../kernel/tool/contracts/error-record.ts";
import { CONTENT_LOSS, lost, NO_COMMANDS } from "../../../kernel/tool/contracts/losses.ts";
import { contentOf } from "../../../kernel/tool/contracts/mcp-content.ts";
import { type ModelPart, resultParts, resultTexts } from "../../../kernel/tool/contracts/model-parts.ts";
import { objectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { readName, writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { Reader } from "../../../kernel/tool/contracts/reader.ts";

/** A JSON value in the `ai` package's types. */
export type AiJson = null | string | number | boolean | AiJson[] | { [key: string]: AiJson | undefined };

/** A tool in a tool set, without its `execute`. */
export type AiTool = {
  description: string;
  inputSchema: AiSchema;
  outputSchema?: AiSchema;
  /** Version, tags and annotations of the tool. Passed along with calls, not to the model. */
  metadata?: { [key: string]: AiJson };
};

/** A tool set: tools keyed by name. Spread several into one object to combine them. */
export type AiToolSet = Record<string, AiTool>;

/** The part of an assistant's message that calls a tool. */
export type AiToolCall = { type: "tool-call"; toolCallId: string; toolName: string; input: Record<string, unknown> };

/** The part of a tool message with a call's result. */
export type AiToolResult = { type: "tool-result"; toolCallId: string; toolName: string; output: AiToolOutput };

export type AiToolOutput = AiModelOutput | { type: "error-json"; value: AiJson };

/** The output of a call that succeeded. */
export type AiModelOutput =
  { type: "text"; value: string } | { type: "json"; value: AiJson } | { type: "content"; value: AiContentPart[] };

/** A part of content: a text, or a file as Base64. */
export type AiContentPart =
  { type: "text"; text: string } | { type: "file"; mediaType: string; data: { type: "data"; data: string } };

const read = new Reader("ai-sdk");

/** The `ai` package's tool sets. */
export const aiSdk: Contract<AiToolSet, AiToolCall, AiToolResult, never> = {
  name: "ai-sdk",
  losses: [
    ...lost("tool", "a model is told what a tool does, not how it is run", "limits", "retries", "outputChars"),
    ...lost("tool", "a schema of arguments says that it is an object's", "inputSchema"),
    ...lost("tool", "a name that is too long is cut, and ends in a checksum", "name"),
    ...lost("tool", "a schema that is `true` or `false` is written as an object's", "outputSchema"),
    ...lost("call", "a name that is too long is cut, and ends in a checksum", "name"),
    NO_COMMANDS,
    CONTENT_LOSS,
    ...lost("result", "a model is not told what a call cost", "metadata"),
  ],
  readTool(definition) {
    const [[written, value] = ["", undefined], ...others] = Object.entries(read.object(definition, ""));
    if (others.length > 0) read.fail("", `must hold one tool, but holds ${others.length + 1}`);
    const tool = read.object(value, "");
    const { metadata } = tool;
    const { version, tags, annotations } = isObject(metadata) ? metadata : {};
    return {
      name: read.name(readName(written), ""),
      description: read.description(tool["description"], "/description"),
      ...(typeof version === "string" ? { version } : {}),
      ...(tags === undefined ? {} : { tags: read.strings(tags, "/metadata/tags") }),
      inputSchema: readSchema(tool["inputSchema"], "/inputSchema"),
      ...(tool["outputSchema"] === undefined
        ? {}
        : { outputSchema: readSchema(tool["outputSchema"], "/outputSchema") }),
      ...(annotations === undefined
        ? {}
        : { annotations: readAnnotations(read, annotations, "/metadata/annotations") }),
    };
  },
  writeTool({ name, description, version, tags, inputSchema, outputSchema, annotations }) {
    const metadata = {
      ...(version === undefined ? {} : { version }),
      ...(tags === undefined || tags.length === 0 ? {} : { tags: [...tags] }),
      ...(annotations === undefined || Object.keys(annotations).length === 0
        ? {}
        : { annotations: { ...annotations } }),
    };
    const tool = {
      description,
      inputSchema: new AiSchema(objectSchema(inputSchema)),
      ...(outputSchema === undefined || outputSchema === null
        ? {}
        : { outputSchema: new AiSchema(outputSchemaOf(outputSchema)) }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    };
    return { [writeName(name)]: tool };
  },
  readCall(message) {
    const call = read.object(message, "");
    read.word(call["type"], ["tool-call"], "/type");
    const { input } = call;
    return {
      ...read.id(call["toolCallId"], "/toolCallId"),
      name: readName(read.string(call["toolName"], "/toolName")),
      // Text in a model's response, parsed in a conversation's message.
      arguments: typeof input === "string" ? read.argumentsText(input, "/input") : read.arguments(input, "/input"),
    };
  },
  writeCall({ id = "", name, arguments: input }) {
    return { type: "tool-call", toolCallId: id, toolName: writeName(name), input };
  },
  readResult(message) {
    const result = read.object(message, "");
    read.word(result["type"], ["tool-result"], "/type");
    const output = read.object(result["output"], "/output");
    const types = ["text", "json", "content", "error-text", "error-json", "execution-denied"] as const;
    const type = read.word(output["type"], types, "/output/type");
    const { value, reason } = output;
    switch (type) {
      case "text":
        return { ok: true, output: read.string(value, "/output/value") };
      case "json":
        return { ok: true, output: value ?? null };
      case "content":
        return { ok: true, output: Array.isArray(value) ? value.map(readPart) : (value ?? null) };
      case "execution-denied":
        return { ok: false, error: { code: "blocked", message: typeof reason === "string" ? reason : "denied" } };
      case "error-text":
      case "error-json": {
        const made = isObject(value) ? value["output"] : undefined;
        return { ok: false, error: readError(value), ...(made === undefined ? {} : { output: made }) };
      }
    }
  },
  writeResult(result) {
    const { error, output, metadata } = result;
    const part = { type: "tool-result", toolCallId: metadata.callId, toolName: writeName(metadata.tool) } as const;
    if (error === null) return { ...part, output: writeOutput(result) };
    // After the message of the error.
    const [, ...texts] = contentOf(output) === null ? [] : resultTexts(result);
    const said = texts.length > 1 ? texts : (texts[0] ?? output);
    const made = said === null || said === undefined ? {} : { output: said };
    return { ...part, output: { type: "error-json", value: { ...writeError(error), ...made } as AiJson } };
  },
  writeEvent: () => null,
};

/** The output of a call that succeeded, for a model. Providers define the files that their models can read. */
export function writeOutput(result: ToolResult): AiModelOutput {
  const { output } = result;
  if (contentOf(output) !== null) return writeContent(resultParts(result, () => true));
  // The output is JSON, but their type demands mutable lists.
  return typeof output === "string"
    ? { type: "text", value: output }
    : { type: "json", value: (output ?? null) as AiJson };
}

function writeContent(parts: readonly ModelPart[]): AiModelOutput {
  const [first] = parts;
  if (first?.type === "text" && parts.length === 1) return { type: "text", value: first.text };
  return {
    type: "content",
    value: parts.map((part) =>
      part.type === "text"
        ? { type: "text", text: part.text }
        : { type: "file", mediaType: part.mimeType, data: { type: "data", data: part.data } },
    ),
  };
}

/** A part of content. Images are those of the Model Context Protocol, so that they are recognized later. */
function readPart(part: unknown): unknown {
  const [file, mimeType] = [memberOf(part, "data"), memberOf(part, "mediaType")];
  const data = typeof file === "string" ? file : memberOf(file, "data");
  if (typeof data !== "string" || typeof mimeType !== "string" || !mimeType.startsWith("image/")) return part;
  return { type: "image", data, mimeType };
}

function readSchema(value: unknown, pointer: string): JsonSchema {
  return read.object(read.object(value, pointer)["jsonSchema"], `${pointer}/jsonSchema`);
}

function outputSchemaOf(schema: JsonSchema): Record<string, unknown> {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  return schema;
}
