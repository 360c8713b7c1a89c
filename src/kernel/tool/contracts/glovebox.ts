import { type Limits, NAMES } from "../../base/limits.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";
import { readAnnotations } from "./annotations.ts";
import type { Contract, ContractEvent, ToolDescription } from "./contract.ts";
import { readError } from "./error-record.ts";
import { Reader } from "./reader.ts";

const read = new Reader("glovebox");

/** The engine's own contract. */
export const glovebox: Contract<ToolDescription, ToolCall, ToolResult, ContractEvent> = {
  name: "glovebox",
  losses: [],
  readTool(definition) {
    const tool = read.object(definition, "");
    const { version, tags, outputSchema, annotations, limits, retries, outputChars } = tool;
    return {
      name: read.name(tool["name"], "/name"),
      description: read.string(tool["description"], "/description"),
      ...(version === undefined ? {} : { version: read.string(version, "/version") }),
      ...(tags === undefined ? {} : { tags: read.strings(tags, "/tags") }),
      inputSchema: read.schema(tool["inputSchema"], "/inputSchema"),
      ...(outputSchema === undefined || outputSchema === null
        ? {}
        : { outputSchema: read.schema(outputSchema, "/outputSchema") }),
      ...(annotations === undefined ? {} : { annotations: readAnnotations(read, annotations, "/annotations") }),
      ...(limits === undefined ? {} : { limits: readLimits(limits) }),
      ...(retries === undefined ? {} : { retries: read.number(retries, "/retries") }),
      ...(outputChars === undefined ? {} : { outputChars: read.number(outputChars, "/outputChars") }),
    };
  },
  writeTool(tool) {
    const { name, description, version, tags, inputSchema, outputSchema } = tool;
    const { annotations, limits, retries, outputChars } = tool;
    return {
      name,
      description,
      ...(version === undefined ? {} : { version }),
      ...(tags === undefined ? {} : { tags }),
      inputSchema,
      ...(outputSchema === undefined || outputSchema === null ? {} : { outputSchema }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(limits === undefined ? {} : { limits }),
      ...(retries === undefined ? {} : { retries }),
      ...(outputChars === undefined ? {} : { outputChars }),
    };
  },
  readCall(message) {
    const call = read.object(message, "");
    return {
      ...read.id(call["id"], "/id"),
      name: read.string(call["name"], "/name"),
      arguments: read.arguments(call["arguments"], "/arguments"),
      ...(call["command"] === undefined ? {} : { command: read.string(call["command"], "/command") }),
    };
  },
  writeCall: (call) => call,
  readResult(message) {
    const { success, output, error, metadata } = read.object(message, "");
    const said = metadata === undefined ? {} : { metadata: read.object(metadata, "/metadata") };
    if (success === true) return { ok: true, output: output ?? null, ...said };
    if (success !== false) return read.fail("/success", "must be true or false");
    const made = output === undefined || output === null ? {} : { output };
    const failure = read.object(error, "/error");
    read.string(failure["message"], "/error/message");
    return { ok: false, error: readError(failure), ...made, ...said };
  },
  writeResult: (result) => result,
  writeEvent: (event) => event,
};

function readLimits(value: unknown): Partial<Limits> {
  const limits = read.object(value, "/limits");
  const known = NAMES.filter((name) => limits[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, read.number(limits[name], `/limits/${name}`)]));
}
