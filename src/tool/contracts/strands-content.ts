import { isObject } from "../../base/json.ts";
/** A block of a tool's result. Binary data are always Base64. */
export type ContentBlock =
  { readonly text: string } | { readonly json: unknown } | { readonly image: { readonly base64: string } };

type BlockKind = "text" | "json" | "image";

/** The value of blocks, and their kinds where the value does not imply them. */
interface BlockValue {
  readonly output: unknown;
  readonly metadata?: { readonly contentKinds: readonly BlockKind[] };
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The problem of a malformed block, worded to follow its position; `null` if it is valid. */
export function describeMalformedBlock(block: unknown): string | null {
  if (!isObject(block) || Object.keys(block).length !== 1) return "must have one of text, json and image";
  if (Object.hasOwn(block, "text")) return typeof block["text"] === "string" ? null : "must have a string as its text";
  if (Object.hasOwn(block, "json")) return block["json"] === undefined ? "must have a JSON value as its json" : null;
  if (Object.hasOwn(block, "image")) return isImage(block) ? null : "must have { base64 } as its image";
  return "must have one of text, json and image";
}

/**
 * The value of blocks: null, the value of the only block, or a list. If writing that value would produce other blocks,
 * the metadata record the kinds.
 */
export function readBlocks(blocks: readonly ContentBlock[]): BlockValue {
  const values = blocks.map(valueOf);
  const [only] = blocks;
  if (only === undefined) return { output: null };
  const isOne = values.length === 1;
  const output: unknown = isOne ? values[0] : values;
  const kinds = blocks.map(kindOf);
  if (isOne && output !== null && kindFor(output) === kinds[0]) return { output };
  return { output, metadata: { contentKinds: kinds } };
}

/** The blocks of a value: of the kinds in its metadata, if recorded; otherwise one block, or none for `null`. */
export function writeBlocks(output: unknown, metadata: { readonly [key: string]: unknown }): readonly ContentBlock[] {
  const kinds = metadata["contentKinds"];
  const values = Array.isArray(kinds) && kinds.length > 1 ? output : [output];
  if (Array.isArray(kinds) && Array.isArray(values) && kinds.length === values.length) {
    const blocks = values.map((value, index) => writeBlock(value, kinds[index]));
    if (blocks.every((block) => block !== null)) return blocks;
  }
  if (output === null || output === undefined) return [];
  const block = writeBlock(output, kindFor(output));
  return block === null ? [] : [block];
}

function writeBlock(value: unknown, kind: unknown): ContentBlock | null {
  if (kind === "text") return typeof value === "string" ? { text: value } : null;
  if (kind === "image") return isImage(value) ? { image: { base64: value.image.base64 } } : null;
  return kind === "json" ? { json: value } : null;
}

function kindOf(block: ContentBlock): BlockKind {
  if ("text" in block) return "text";
  return "json" in block ? "json" : "image";
}

/** The default kind of block for a value. */
function kindFor(value: unknown): BlockKind {
  if (typeof value === "string") return "text";
  return isImage(value) ? "image" : "json";
}

/** A text or JSON block's value; an image stays a block, so that it is recognized later. */
function valueOf(block: ContentBlock): unknown {
  if ("text" in block) return block.text;
  return "json" in block ? block.json : block;
}

function isImage(value: unknown): value is { readonly image: { readonly base64: string } } {
  if (!isObject(value) || Object.keys(value).length !== 1) return false;
  const { image } = value;
  if (!isObject(image) || Object.keys(image).length !== 1) return false;
  const { base64 } = image;
  return typeof base64 === "string" && base64.length % 4 === 0 && BASE64.test(base64);
}
