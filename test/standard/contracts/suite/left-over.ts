import { parseWithDigits } from "../../../../src/kernel/base/exact-json.ts";
import type { Outcome } from "../../../../src/standard/contracts.ts";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";

/** Nothing is left of a field. */
export const NOTHING = Symbol("nothing");

type LeftOver = (value: unknown, outcome?: Outcome) => unknown;

/** What is read of a field that is lost, by `tool.name` and so on. Of a field that is not named here nothing is left. */
export type LeftOvers = { readonly [field: string]: LeftOver };

const asObjectSchema: LeftOver = (schema) => {
  if (typeof schema === "boolean") return schema ? { type: "object" } : { type: "object", not: {} };
  return { ...(schema as Exclude<JsonSchema, boolean>), type: "object" };
};

/** What a text stands for. */
const fromText: LeftOver = (value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  try {
    const found = parseWithDigits(text);
    return Object.is(found, -0) ? text : found;
  } catch {
    return text;
  }
};
/** A tool that failed and had made nothing, or an empty text, made nothing. */
const fromTexts: LeftOver = (value, outcome) => (outcome?.ok === false && value === "" ? null : fromText(value));

const ifShort: LeftOver = (name) => (typeof name === "string" && name.length <= 12 ? name : NOTHING);

const MODEL: LeftOvers = {
  "tool.inputSchema": asObjectSchema,
  "tool.name": ifShort,
  "call.name": ifShort,
};
const TEXT: LeftOvers = { ...MODEL, "result.output": (value, outcome) => fromParts(value, outcome) };

const unlessBoolean: LeftOver = (schema) => (typeof schema === "boolean" ? undefined : schema);

/** Clients misread an optional property that all objects have, so nothing but the type is left of its schema. */
const unlessMisread: LeftOver = (schema) => {
  if (typeof schema !== "object" || schema === null) return undefined;
  const {
    type,
    properties = {},
    required = [],
  } = schema as {
    readonly type?: unknown;
    readonly properties?: object;
    readonly required?: readonly string[];
  };
  const isMisread = Object.keys(properties).some((name) => name in Object.prototype && !required.includes(name));
  return isMisread ? { type } : schema;
};

/** The images of Strands' golden results are PNG; what stands beside one is text. */
const asBlocks: LeftOver = (value) => {
  const isImage = (each: unknown): each is { image: { base64: string } } =>
    typeof each === "object" && each !== null && "image" in each;
  if (isImage(value)) return { type: "image", data: value.image.base64, mimeType: "image/png" };
  if (!Array.isArray(value) || !value.some(isImage)) return value;
  return value.map((each: unknown) =>
    isImage(each) || typeof each === "string" ? asBlocks(each) : JSON.stringify(each),
  );
};

interface Image {
  readonly type: "image";
  readonly mimeType: string;
}

/** Content, part by part; `undefined` for data. */
function partsOf(value: unknown, write: (part: string | Image) => unknown): unknown {
  const blocks = asBlocks(value);
  if (blocks === value) return undefined;
  return Array.isArray(blocks) ? blocks.map(write) : write(blocks as Image);
}

const nameOf = ({ mimeType }: Image): string => `[${mimeType}, 8 bytes: this format cannot show it]`;
const isText = (part: unknown): part is string => typeof part === "string";

/** Texts stand for something, and images are shown. */
const fromParts: LeftOver = (value, outcome) =>
  partsOf(value, (part) => (isText(part) ? fromText(part) : part)) ?? fromTexts(value, outcome);
/** Texts stand for something, and images are named. */
const fromNames: LeftOver = (value, outcome) =>
  partsOf(value, (part) => (isText(part) ? fromText(part) : nameOf(part))) ?? fromTexts(value, outcome);

export const LEFT_OVERS: { readonly [name: string]: LeftOvers } = {
  "openai-chat": { ...TEXT, "result.output": fromNames },
  "openai-responses": { ...TEXT, "tool.outputSchema": unlessBoolean },
  anthropic: { ...TEXT, "result.error.message": (message) => (message === "" ? NOTHING : message) },
  gemini: {
    ...MODEL,
    "result.output": (value) => partsOf(value, (part) => (isText(part) ? part : nameOf(part))) ?? value,
  },
  "ai-sdk": {
    ...MODEL,
    "result.output": (value) => partsOf(value, (part) => (isText(part) ? { type: "text", text: part } : part)) ?? value,
    "tool.outputSchema": (schema) => (typeof schema === "boolean" ? (schema ? {} : { not: {} }) : schema),
  },
  mcp: {
    "tool.inputSchema": asObjectSchema,
    "tool.outputSchema": unlessMisread,
    "result.output": (value, outcome) => (outcome?.ok === false ? fromTexts(value, outcome) : asBlocks(value)),
  },
};
