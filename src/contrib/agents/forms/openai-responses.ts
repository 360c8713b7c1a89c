import { isObject } from "../../../kernel/base/json.ts";
import type { Contract } from "../../../kernel/tool/contracts/contract.ts";
import { CONTENT_LOSS, IMAGES_ONLY, lost, MODEL_LOSSES, TEXT_LOSSES } from "../../../kernel/tool/contracts/losses.ts";
import type { McpBlock } from "../../../kernel/tool/contracts/mcp-content.ts";
import { type ModelPart, resultParts, SHOWS_IMAGES, writeParts } from "../../../kernel/tool/contracts/model-parts.ts";
import { objectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { readContent, readFunction } from "./openai-chat.ts";
import { readName, writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { Reader } from "../../../kernel/tool/contracts/reader.ts";
import { isStrict } from "../../../kernel/tool/contracts/strict-schema.ts";
import { readTexts } from "../../../kernel/tool/contracts/text-form.ts";

/** An entry of a response's `tools`. */
export type OpenAiResponsesTool = {
  type: "function";
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  /** Always set, because the API's default is `true`. */
  strict: boolean;
  output_schema?: Record<string, unknown>;
};

/** The item of a response's `output` that calls a tool. */
export type OpenAiResponsesCall = { type: "function_call"; call_id: string; name: string; arguments: string };

/** The item with a call's result. */
export type OpenAiCallOutput = {
  type: "function_call_output";
  call_id: string;
  output: string | (OpenAiInputText | OpenAiInputImage)[];
};

export type OpenAiInputText = { type: "input_text"; text: string };

/** An image as a `data:` URL. */
export type OpenAiInputImage = { type: "input_image"; image_url: string };

const read = new Reader("openai-responses");

/** OpenAI's Responses API. */
export const openaiResponses: Contract<OpenAiResponsesTool, OpenAiResponsesCall, OpenAiCallOutput, never> = {
  name: "openai-responses",
  losses: [
    ...MODEL_LOSSES,
    ...TEXT_LOSSES,
    ...lost("tool", "there is no place for a schema that is `true` or `false`", "outputSchema"),
    CONTENT_LOSS,
    IMAGES_ONLY,
    ...lost("result", "a text that begins with `Error: ` is read as a failure's", "success"),
  ],
  readTool(definition) {
    const tool = read.object(definition, "");
    read.word(tool["type"], ["function"], "/type");
    const outputSchema = tool["output_schema"];
    return {
      ...readFunction(read, tool, ""),
      ...(outputSchema === undefined || outputSchema === null
        ? {}
        : { outputSchema: read.object(outputSchema, "/output_schema") }),
    };
  },
  writeTool({ name, description, inputSchema, outputSchema }) {
    const parameters = objectSchema(inputSchema);
    const output = isObject(outputSchema) ? { output_schema: outputSchema } : {};
    const strict = isStrict(parameters);
    return { type: "function", name: writeName(name), description, parameters, strict, ...output };
  },
  readCall(message) {
    const call = read.object(message, "");
    read.word(call["type"], ["function_call"], "/type");
    return {
      ...read.id(call["call_id"], "/call_id"),
      name: readName(read.string(call["name"], "/name")),
      arguments: read.argumentsText(call["arguments"], "/arguments"),
    };
  },
  writeCall({ id = "", name, arguments: given }) {
    return { type: "function_call", call_id: id, name: writeName(name), arguments: JSON.stringify(given) };
  },
  readResult(message) {
    const result = read.object(message, "");
    read.word(result["type"], ["function_call_output"], "/type");
    return readTexts(readContent(read, result["output"], "/output", ["input_text"], readImage));
  },
  writeResult(result) {
    const output = writeParts(resultParts(result, SHOWS_IMAGES), writePart);
    return { type: "function_call_output", call_id: result.metadata.callId, output };
  },
  writeEvent: () => null,
};

function writePart(part: ModelPart): OpenAiInputText | OpenAiInputImage {
  if (part.type === "text") return { type: "input_text", text: part.text };
  return { type: "input_image", image_url: `data:${part.mimeType};base64,${part.data}` };
}

function readImage({ type, image_url: url }: Readonly<Record<string, unknown>>): McpBlock | undefined {
  if (type !== "input_image" || typeof url !== "string") return undefined;
  const [, mimeType] = /^data:([\w.+-]{1,100}\/[\w.+-]{1,100});base64,/.exec(url) ?? [];
  return mimeType === undefined ? undefined : { type: "image", data: url.slice(url.indexOf(",") + 1), mimeType };
}
