import { toolError } from "../../../kernel/base/errors.ts";
import type { ToolResult } from "../../../kernel/base/result.ts";
import type { Contract } from "../../../kernel/tool/contracts/contract.ts";
import { type ErrorRecord, readError, writeError } from "../../../kernel/tool/contracts/error-record.ts";
import { CONTENT_LOSS, MODEL_LOSSES, NO_MEDIA } from "../../../kernel/tool/contracts/losses.ts";
import { contentOf } from "../../../kernel/tool/contracts/mcp-content.ts";
import { outputParts, SHOWS_NOTHING, textsOf } from "../../../kernel/tool/contracts/model-parts.ts";
import { objectSchema, type ObjectSchema } from "../../../kernel/tool/contracts/object-schema.ts";
import { fromOpenApi } from "../../../kernel/tool/contracts/openapi-schema.ts";
import { readName, writeName } from "../../../kernel/tool/contracts/portable-name.ts";
import { Reader } from "../../../kernel/tool/contracts/reader.ts";
import type { JsonSchema } from "../../../kernel/base/json.ts";

/** An entry of `functionDeclarations`. */
export type GeminiFunction = {
  name: string;
  description: string;
  parametersJsonSchema: ObjectSchema;
  responseJsonSchema?: JsonSchema;
};

/** The part of a model's content that calls a function. */
export type GeminiCallPart = { functionCall: { id?: string; name: string; args: Record<string, unknown> } };

/**
 * The part of a user's content with a call's result: `output` or `error`, and both if a failed tool had partial output.
 */
export type GeminiResponsePart = {
  functionResponse: { id?: string; name: string; response: { output?: unknown; error?: ErrorRecord } };
};

const read = new Reader("gemini");

/** Gemini's function calling. */
export const gemini: Contract<GeminiFunction, GeminiCallPart, GeminiResponsePart, never> = {
  name: "gemini",
  // Few models take images in a response, and others refuse the request.
  losses: [...MODEL_LOSSES, CONTENT_LOSS, NO_MEDIA],
  readTool(definition) {
    const tool = read.object(definition, "");
    const { parametersJsonSchema, parameters, responseJsonSchema, response } = tool;
    const output =
      responseJsonSchema ?? (response === undefined ? undefined : fromOpenApi(read, response, "/response"));
    return {
      name: read.name(readName(read.string(tool["name"], "/name")), "/name"),
      description: read.description(tool["description"], "/description"),
      inputSchema:
        parametersJsonSchema === undefined && parameters !== undefined
          ? fromOpenApi(read, parameters, "/parameters")
          : read.schema(parametersJsonSchema, "/parametersJsonSchema"),
      ...(output === undefined ? {} : { outputSchema: read.schema(output, "/responseJsonSchema") }),
    };
  },
  writeTool({ name, description, inputSchema, outputSchema }) {
    return {
      name: writeName(name),
      description,
      parametersJsonSchema: objectSchema(inputSchema),
      ...(outputSchema === undefined || outputSchema === null ? {} : { responseJsonSchema: outputSchema }),
    };
  },
  readCall(message) {
    const call = read.object(read.object(message, "")["functionCall"], "/functionCall");
    return {
      ...read.id(call["id"], "/functionCall/id"),
      name: readName(read.string(call["name"], "/functionCall/name")),
      arguments: read.arguments(call["args"], "/functionCall/args"),
    };
  },
  writeCall({ id, name, arguments: args }) {
    return { functionCall: { ...(id === undefined ? {} : { id }), name: writeName(name), args } };
  },
  readResult(message) {
    const { response } = read.object(read.object(message, "")["functionResponse"], "/functionResponse");
    const said = read.object(response, "/functionResponse/response");
    const { error, output } = said;
    if (error !== undefined && error !== null) {
      return { ok: false, error: readError(error), ...(output === undefined ? {} : { output }) };
    }
    return { ok: true, output: Object.hasOwn(said, "output") ? output : said };
  },
  writeResult(result) {
    const { callId: id, tool } = result.metadata;
    const { error, output } = readableResult(result);
    const made = error !== null && (output === null || output === undefined) ? {} : { output: output ?? null };
    const response = error === null ? made : { error: writeError(error), ...made };
    return { functionResponse: { ...(id === "" ? {} : { id }), name: writeName(tool), response } };
  },
  writeEvent: () => null,
};

/** A result whose content is its texts: a single text is the output itself, several are a list. */
function readableResult(result: ToolResult): Pick<ToolResult, "error" | "output"> {
  if (contentOf(result.output) === null) return result;
  const { parts, isError } = outputParts(result, SHOWS_NOTHING);
  const [first = "", ...rest] = textsOf(parts);
  if (result.error === null && isError) {
    return { error: toolError("tool_error", first), output: rest.length > 1 ? rest : rest[0] };
  }
  return { error: result.error, output: rest.length === 0 ? first : [first, ...rest] };
}
