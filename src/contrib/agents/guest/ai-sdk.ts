import { isObject, methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import { encodeBase64 } from "../../../kernel/guest/web/base64-bytes.ts";
import type { ToolContext } from "../../../kernel/guest/tool-context.ts";
import type { Library, WrappedAnswer } from "../../../kernel/guest/contracts/library.ts";
import { asksOf, awaitApproval } from "./approval.ts";
import { configOf, isFunctionIn, memberOf, refuseUse, report, textIn } from "./library.ts";
import { parserFor } from "./parser.ts";

/**
 * Tools of the AI SDK: `tool({ description, inputSchema, execute })`, since version 4, in which the schema is
 * `parameters`.
 */
export const aiSdk: Library = {
  name: "ai-sdk",
  matches: (value) =>
    isObject(schemaIn(value)) || typeof schemaIn(value) === "function"
      ? textIn(value, "name") === undefined || isOfProvider(value)
      : false,
  nameOf: (value) => (isOfProvider(value) ? textIn(value, "name") : undefined),
  refusal: (value) => {
    if (isFunctionIn(value, "execute")) return undefined;
    return isOfProvider(value)
      ? "is run by its provider: it has no execute"
      : "has no execute: whoever calls the model answers it";
  },
  describe: (value) => ({
    name: aiSdk.nameOf(value),
    description: descriptionOf(value),
    input: schemaIn(value),
    output: memberOf(value, "outputSchema"),
    wraps: isFunctionIn(value, "toModelOutput"),
    title: textIn(value, "title"),
    asks: asksOf(memberOf(value, "needsApproval")),
  }),
  open: (value) => {
    const execute = methodOf(value, "execute");
    const parse = parserFor(schemaIn(value));
    const show = isFunctionIn(value, "toModelOutput") ? modelOutputOf(value) : null;
    const needsApproval = methodOf(value, "needsApproval");
    return async (input, context) => {
      const parsed = parse === null ? input : await parse(input);
      const options = optionsFor(context);
      if (needsApproval !== undefined) await awaitApproval(() => needsApproval(parsed, options), input, context);
      const output = await lastOf(execute?.(parsed, options), context);
      return show === null ? output : show(context.callId, parsed, output);
    };
  },
};

function schemaIn(value: object): unknown {
  return memberOf(value, "inputSchema") ?? memberOf(value, "parameters");
}

function isOfProvider(value: object): boolean {
  const type = memberOf(value, "type");
  return type === "provider" || type === "provider-defined";
}

/** Since version 7, a description may be a function of the context, which a module lacks. */
function descriptionOf(value: object): string | undefined {
  const description = methodOf(value, "description")?.({ context: undefined }) ?? memberOf(value, "description");
  return typeof description === "string" && description !== "" ? description : undefined;
}

function optionsFor(context: ToolContext): object {
  const config = configOf(context);
  const options = {
    toolCallId: context.callId,
    messages: [],
    get abortSignal() {
      return context.signal;
    },
    context: config,
    experimental_context: config,
  };
  // Not enumerable: copying the options does not count as use. `host` is the engine's addition.
  return Object.defineProperties(options, {
    host: { get: () => context.host },
    experimental_sandbox: {
      get: () => refuseUse("experimental_sandbox", "use options.host.fs or options.host.exec with a grant"),
    },
  });
}

/** The values of a generator are progress, and the last of them is the output. */
async function lastOf(result: unknown, context: ToolContext): Promise<unknown> {
  const iterate: unknown = isObject(result) ? Reflect.get(result, Symbol.asyncIterator) : undefined;
  if (typeof iterate !== "function") return result;
  let last: unknown;
  let count = 0;
  for await (const value of result as AsyncIterable<unknown>) {
    last = value;
    report(context, ++count, value);
  }
  return last;
}

type Show = (toolCallId: string, input: unknown, output: unknown) => Promise<WrappedAnswer>;

/** An output in the form for models, by the tool's own function. */
function modelOutputOf(tool: object): Show {
  const shape = methodOf(tool, "toModelOutput");
  const takesOutput = isOfVersion5(memberOf(tool, "toModelOutput"));
  return async (toolCallId, input, output) => {
    const shaped = await shape?.(takesOutput ? output : { toolCallId, input, output });
    return { output, metadata: { modelOutput: readModelOutput(shaped) } };
  };
}

/** Version 5 gives the output itself; later ones give `{ toolCallId, input, output }`. */
function isOfVersion5(shape: unknown): boolean {
  const source = Function.prototype.toString.call(shape).slice(0, 64 * 1024);
  const parameter = /^(?:async\s+)?(?:function\s*)?[\w$]*\s*\(?\s*([\w$]+|\{)/.exec(
    source.replace(/^(async\s+)?toModelOutput\s*(?=\()/, "$1"),
  )?.[1];
  return parameter !== undefined && parameter !== "{" && !source.includes(`${parameter}.output`);
}

/**
 * Converts the AI SDK's form of a result to a tool's return value: a text, a value, or content of the Model Context
 * Protocol.
 */
function readModelOutput(shaped: unknown): unknown {
  const value = memberOf(shaped, "value");
  if (memberOf(shaped, "type") !== "content" || !Array.isArray(value)) return value ?? null;
  return { content: value.map(contentBlock) };
}

function contentBlock(part: unknown): unknown {
  const mimeType = textOf(memberOf(part, "mediaType"));
  const file = mimeType === undefined ? null : contentOf(memberOf(part, "data"));
  if (file === null) return { type: "text", text: textOf(memberOf(part, "text")) ?? JSON.stringify(part) };
  const [kind] = (mimeType ?? "").split("/");
  if ("blob" in file && (kind === "image" || kind === "audio")) return { type: kind, data: file.blob, mimeType };
  const name = textOf(memberOf(part, "filename")) ?? "file";
  if ("uri" in file) return { type: "resource_link", uri: file.uri, name, mimeType };
  return { type: "resource", resource: { uri: `attachment:///${encodeURIComponent(name)}`, mimeType, ...file } };
}

type FileContent = { readonly blob: string } | { readonly text: string } | { readonly uri: string };

/** Content of a file as text in Base64, or in the tagged forms that version 7 has; `null` for another one. */
function contentOf(data: unknown): FileContent | null {
  if (typeof data === "string") return { blob: data };
  if (data instanceof Uint8Array) return { blob: encodeBase64(data) };
  if (data instanceof ArrayBuffer) return { blob: encodeBase64(new Uint8Array(data)) };
  switch (memberOf(data, "type")) {
    case "data":
      return contentOf(memberOf(data, "data"));
    case "text":
      return { text: textOf(memberOf(data, "text")) ?? "" };
    case "url":
      return { uri: String(memberOf(data, "url")) };
    default:
      return null;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
