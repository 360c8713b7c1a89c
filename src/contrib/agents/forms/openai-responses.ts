import { isObject } from "../../../kernel/base/json.ts";
import type { Contract } from "../../../kernel/tool/contracts/contract.ts";
import { lost, MODEL_LOSSES, TEXT_LOSSES } from "../../../kernel/tool/contracts/losses.ts";
import { objectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { readContent, readFunction } from "./openai-chat.ts";
import { readName, writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { Reader } from "../../../kernel/tool/contracts/reader.ts";
import { isStrict } from "../../../kernel/tool/contracts/strict-schema.ts";
import { readTexts, resultTexts } from "../../../kernel/tool/contracts/text-form.ts";

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
export type OpenAiCallOutput = { type: "function_call_output"; call_id: string; output: string | OpenAiInputText[] };

export type OpenAiInputText = { type: "input_text"; text: string };

const read = new Reader("openai-responses");

/** OpenAI's Responses API. */
export const openaiResponses: Contract<OpenAiResponsesTool, OpenAiResponsesCall, OpenAiCallOutput, never> = {
  name: "openai-responses",
  losses: [
    ...MODEL_LOSSES,
    ...TEXT_LOSSES,
    ...lost("tool", "there is no place for a schema that is `true` or `false`", "outputSchema"),
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
    return readTexts(readContent(read, result["output"], "/output", ["input_text"]));
  },
  writeResult(result) {
    const [text, ...rest] = resultTexts(result);
    const output =
      rest.length === 0 ? text : [text, ...rest].map((each) => ({ type: "input_text" as const, text: each }));
    return { type: "function_call_output", call_id: result.metadata.callId, output };
  },
  writeEvent: () => null,
};
