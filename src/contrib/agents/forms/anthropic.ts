import { writableOutput } from "../../../kernel/base/result.ts";
import type { Contract } from "../../../kernel/tool/contracts/contract.ts";
import { lost, MODEL_LOSSES, TEXT_LOSSES } from "../../../kernel/tool/contracts/losses.ts";
import { objectSchema, type ObjectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { readContent } from "./openai-chat.ts";
import { readName, writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { Reader } from "../../../kernel/tool/contracts/reader.ts";
import { failureOf, failureTexts, outputsOf, textOf } from "../../../kernel/tool/contracts/text-form.ts";

/** An entry of `tools` in a message request. */
export type AnthropicTool = { name: string; description: string; input_schema: ObjectSchema };

/** The block of an assistant's content that calls a tool. */
export type AnthropicToolUse = { type: "tool_use"; id: string; name: string; input: Record<string, unknown> };

/** The block of a user's content with a call's result. */
export type AnthropicToolResult = {
  type: "tool_result";
  tool_use_id: string;
  content: string | AnthropicText[];
  is_error?: true;
};

export type AnthropicText = { type: "text"; text: string };

const read = new Reader("anthropic");

/** Anthropic's Messages API. */
export const anthropic: Contract<AnthropicTool, AnthropicToolUse, AnthropicToolResult, never> = {
  name: "anthropic",
  losses: [
    ...MODEL_LOSSES,
    ...TEXT_LOSSES,
    ...lost("tool", "there is no place for what a tool answers", "outputSchema"),
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
    const texts = readContent(read, result["content"] ?? "", "/content", ["text"]);
    const [first = "", ...rest] = texts;
    return result["is_error"] === true ? failureOf(first, rest) : { ok: true, output: outputsOf(texts) };
  },
  writeResult(result) {
    const { error, metadata } = result;
    const output = writableOutput(result);
    const answer = { type: "tool_result", tool_use_id: metadata.callId } as const;
    if (error === null) return { ...answer, content: textOf(output) };
    const [text, ...rest] = failureTexts(error.message === "" ? error.type : error.message, output);
    const content = rest.length === 0 ? text : [text, ...rest].map((each) => ({ type: "text" as const, text: each }));
    return { ...answer, content, is_error: true };
  },
  writeEvent: () => null,
};
