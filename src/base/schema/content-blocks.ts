import { isObject } from "../json.ts";

/** A block of a tool's result. Binary data are always Base64. */
export type ContentBlock =
  { readonly text: string } | { readonly json: unknown } | { readonly image: { readonly base64: string } };

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The problem of a malformed block, worded to follow its position; `null` if it is valid. */
export function describeMalformedBlock(block: unknown): string | null {
  if (!isObject(block) || Object.keys(block).length !== 1) return "must have one of text, json and image";
  if (Object.hasOwn(block, "text")) return typeof block["text"] === "string" ? null : "must have a string as its text";
  if (Object.hasOwn(block, "json")) return block["json"] === undefined ? "must have a JSON value as its json" : null;
  if (Object.hasOwn(block, "image")) return isImage(block) ? null : "must have { base64 } as its image";
  return "must have one of text, json and image";
}

export function isImage(value: unknown): value is { readonly image: { readonly base64: string } } {
  if (!isObject(value) || Object.keys(value).length !== 1) return false;
  const { image } = value;
  if (!isObject(image) || Object.keys(image).length !== 1) return false;
  return isBase64(image["base64"]);
}

export function isBase64(value: unknown): value is string {
  return typeof value === "string" && value.length % 4 === 0 && BASE64.test(value);
}

/** The value of blocks: null, the value of the only block, or a list. */
export function outputOfBlocks(blocks: readonly ContentBlock[]): unknown {
  const values = blocks.map(valueOf);
  return values.length > 1 ? values : (values[0] ?? null);
}

/** A text or JSON block's value; an image stays a block, so that it is recognized later. */
function valueOf(block: ContentBlock): unknown {
  if ("text" in block) return block.text;
  return "json" in block ? block.json : block;
}
