import { memberOf } from "../../../kernel/base/json.ts";
import type { Contract } from "../../../kernel/tool/contracts/contract.ts";
import { CONTENT_LOSS, IMAGES_ONLY, lost, MODEL_LOSSES, TEXT_LOSSES } from "../../../kernel/tool/contracts/losses.ts";
import type { McpBlock } from "../../../kernel/tool/contracts/mcp-content.ts";
import {
  type ModelPart,
  outputParts,
  SHOWS_IMAGES,
  SHOWS_NOTHING,
  writeParts,
} from "../../../kernel/tool/contracts/model-parts.ts";
import { objectSchema, type ObjectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { readContent } from "./openai-chat.ts";
import { readName, writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { Reader } from "../../../kernel/tool/contracts/reader.ts";
import { failureOf, outputsOf } from "../../../kernel/tool/contracts/text-form.ts";

/** An entry of `tools` in a message request. */
export type AnthropicTool = { name: string; description: string; input_schema: ObjectSchema };

/** The block of an assistant's content that calls a tool. */
export type AnthropicToolUse = { type: "tool_use"; id: string; name: string; input: Record<string, unknown> };

/** The block of a user's content with a call's result. */
export type AnthropicToolResult = {
  type: "tool_result";
  tool_use_id: string;
  content: string | (AnthropicText | AnthropicImage)[];
  is_error?: true;
};

export type AnthropicText = { type: "text"; text: string };

export type AnthropicImage = { type: "image"; source: { type: "base64"; media_type: string; data: string } };

const read = new Reader("anthropic");

/** Anthropic's Messages API. */
export const anthropic: Contract<AnthropicTool, AnthropicToolUse, AnthropicToolResult, never> = {
  name: "anthropic",
  losses: [
    ...MODEL_LOSSES,
    ...TEXT_LOSSES,
    ...lost("tool", "there is no place for what a tool answers", "outputSchema"),
    CONTENT_LOSS,
    IMAGES_ONLY,
    ...lost("result", "a failure must say something, so its type stands for an empty message", "error.message"),
  ],
  readTool(definition) {
    const tool = read.object(definition, "");
    if (tool["type"] !== undefined && tool["type"] !== null) read.word(tool["type"], ["custom"], "/type");
    return {
      name: read.name(readName(read.string(tool["name"], "/name")), "/name"),
      description: read.description(tool["description"], "/description"),
      inputSchema: read.object(tool["input_schema"], "/input_schema"),
    };
  },
  writeTool({ name, description, inputSchema }) {
    return { name: writeName(name), description, input_schema: objectSchema(inputSchema) };
  },
  readCall(message) {
    const call = read.object(message, "");
    read.word(call["type"], ["tool_use"], "/type");
    return {
      ...read.id(call["id"], "/id"),
      name: readName(read.string(call["name"], "/name")),
      arguments: read.arguments(call["input"], "/input"),
    };
  },
  writeCall({ id = "", name, arguments: input }) {
    return { type: "tool_use", id, name: writeName(name), input };
  },
  readResult(message) {
    const result = read.object(message, "");
    read.word(result["type"], ["tool_result"], "/type");
    const parts = readContent(read, result["content"] ?? "", "/content", ["text"], readImage);
    if (result["is_error"] !== true) return { ok: true, output: outputsOf(parts) };
    const [first = "", ...rest] = parts;
    return typeof first === "string" ? failureOf(first, rest) : failureOf("", parts);
  },
  writeResult(result) {
    const { error, metadata } = result;
    const answer = { type: "tool_result", tool_use_id: metadata.callId } as const;
    const shown = outputParts(result, SHOWS_IMAGES);
    if (error === null && !shown.isError) return { ...answer, content: writeParts(shown.parts, writePart) };
    // The API accepts only text in failures.
    const { parts } = outputParts(result, SHOWS_NOTHING);
    const said =
      error === null ? [] : [{ type: "text", text: error.message === "" ? error.type : error.message } as const];
    return { ...answer, content: writeParts([...said, ...parts], writePart), is_error: true };
  },
  writeEvent: () => null,
};

function writePart(part: ModelPart): AnthropicText | AnthropicImage {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } };
}

function readImage({ type, source }: Readonly<Record<string, unknown>>): McpBlock | undefined {
  const [data, mimeType] = [memberOf(source, "data"), memberOf(source, "media_type")];
  const isImage = type === "image" && typeof data === "string" && typeof mimeType === "string";
  return isImage ? { type, data, mimeType } : undefined;
}
