import type { Contract, ToolDescription } from "../../../kernel/tool/contracts/contract.ts";
import { lost, MODEL_LOSSES, NO_MEDIA, TEXT_LOSSES } from "../../../kernel/tool/contracts/losses.ts";
import type { McpBlock } from "../../../kernel/tool/contracts/mcp-content.ts";
import { resultTexts } from "../../../kernel/tool/contracts/model-parts.ts";
import { objectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { readName, writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { Reader } from "../../../kernel/tool/contracts/reader.ts";
import { isStrict } from "../../../kernel/tool/contracts/strict-schema.ts";
import { readTexts } from "../../../kernel/tool/contracts/text-form.ts";

/** An entry of `tools` in a chat completion. */
export type OpenAiChatTool = {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown>; strict?: true };
};

/** An entry of an assistant message's `tool_calls`. */
export type OpenAiChatCall = { id: string; type: "function"; function: { name: string; arguments: string } };

/** The message with a call's result. */
export type OpenAiToolMessage = { role: "tool"; tool_call_id: string; content: string | OpenAiText[] };

export type OpenAiText = { type: "text"; text: string };

const read = new Reader("openai-chat");

/** OpenAI's chat completions, which many other servers support too. */
export const openaiChat: Contract<OpenAiChatTool, OpenAiChatCall, OpenAiToolMessage, never> = {
  name: "openai-chat",
  losses: [
    ...MODEL_LOSSES,
    ...TEXT_LOSSES,
    ...lost("tool", "there is no place for what a tool answers", "outputSchema"),
    ...lost("result", "a text that begins with `Error: ` is read as a failure's", "success"),
    NO_MEDIA,
  ],
  readTool(definition) {
    const tool = read.object(definition, "");
    read.word(tool["type"], ["function"], "/type");
    return readFunction(read, read.object(tool["function"], "/function"), "/function");
  },
  writeTool({ name, description, inputSchema }) {
    const parameters = objectSchema(inputSchema);
    const strict = isStrict(parameters) ? ({ strict: true } as const) : {};
    return { type: "function", function: { name: writeName(name), description, parameters, ...strict } };
  },
  readCall(message) {
    const call = read.object(message, "");
    if (call["type"] !== undefined) read.word(call["type"], ["function"], "/type");
    const called = read.object(call["function"], "/function");
    return {
      ...read.id(call["id"], "/id"),
      name: readName(read.string(called["name"], "/function/name")),
      arguments: read.argumentsText(called["arguments"], "/function/arguments"),
    };
  },
  writeCall({ id = "", name, arguments: given }) {
    return { id, type: "function", function: { name: writeName(name), arguments: JSON.stringify(given) } };
  },
  readResult(message) {
    const result = read.object(message, "");
    read.word(result["role"], ["tool"], "/role");
    return readTexts(readContent(read, result["content"], "/content", ["text"]));
  },
  writeResult(result) {
    const [text = "", ...rest] = resultTexts(result);
    const content = rest.length === 0 ? text : [text, ...rest].map((each) => ({ type: "text" as const, text: each }));
    return { role: "tool", tool_call_id: result.metadata.callId, content };
  },
  writeEvent: () => null,
};

/** Reads OpenAI's description of a function, which has the same fields in both APIs. */
export function readFunction(reader: Reader, fields: Readonly<Record<string, unknown>>, at: string): ToolDescription {
  return {
    name: reader.name(readName(reader.string(fields["name"], `${at}/name`)), `${at}/name`),
    description: reader.description(fields["description"], `${at}/description`),
    inputSchema: reader.schema(fields["parameters"], `${at}/parameters`),
  };
}

/** The texts of a content that is a string or a list of text parts. `readImage`: `undefined` for other parts. */
export function readContent(
  reader: Reader,
  content: unknown,
  at: string,
  types: readonly string[],
  readImage: (part: Readonly<Record<string, unknown>>) => McpBlock | undefined = () => undefined,
): readonly (string | McpBlock)[] {
  if (typeof content === "string") return [content];
  return reader.list(content, at).map((each, index) => {
    const part = reader.object(each, `${at}/${index}`);
    const image = readImage(part);
    if (image !== undefined) return image;
    reader.word(part["type"], types, `${at}/${index}/type`);
    return reader.string(part["text"], `${at}/${index}/text`);
  });
}
