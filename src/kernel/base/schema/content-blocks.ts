import { isObject } from "../json.ts";

/** Binary data, always as Base64. */
export interface Base64 {
  readonly base64: string;
}

/** Media with their format, in the form of the Strands SDK: with the bytes, or with the place of the bytes. */
export interface Media {
  readonly format: string;
  /** Documents have one. */
  readonly name?: string;
  readonly source:
    { readonly bytes: Base64 } | { readonly location: { readonly type: string; readonly [key: string]: unknown } };
}

/** A block of a tool's result. */
export type ContentBlock =
  | { readonly text: string }
  | { readonly json: unknown }
  | { readonly image: Base64 | Media }
  | { readonly document: Media }
  | { readonly video: Media };

/** A block that is more than text or JSON. */
export type MediaBlock = Extract<ContentBlock, { image: unknown } | { document: unknown } | { video: unknown }>;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const FORMAT = /^[\w.+-]{1,40}$/;
const MEDIA = ["image", "document", "video"] as const;
const KINDS = "must have one of text, json, image, document and video";
const SHAPE = "{ format, source: { bytes } }";

/** The problem of a malformed block, worded to follow its position; `null` if it is valid. */
export function describeMalformedBlock(block: unknown): string | null {
  if (!isObject(block) || Object.keys(block).length !== 1) return KINDS;
  if (Object.hasOwn(block, "text")) return typeof block["text"] === "string" ? null : "must have a string as its text";
  if (Object.hasOwn(block, "json")) return block["json"] === undefined ? "must have a JSON value as its json" : null;
  if (isMediaBlock(block)) return null;
  if (Object.hasOwn(block, "image")) return `must have { base64 } or ${SHAPE} as its image`;
  const kind = MEDIA.find((one) => Object.hasOwn(block, one));
  return kind === undefined ? KINDS : `must have ${SHAPE} as its ${kind}`;
}

export function isMediaBlock(value: unknown): value is MediaBlock {
  if (!isObject(value) || Object.keys(value).length !== 1) return false;
  const kind = MEDIA.find((one) => Object.hasOwn(value, one));
  return kind !== undefined && (isMedia(value[kind]) || (kind === "image" && isBase64Object(value[kind])));
}

function isMedia(value: unknown): value is Media {
  if (!isObject(value)) return false;
  const { format, name, source } = value;
  if (typeof format !== "string" || !FORMAT.test(format) || !isObject(source)) return false;
  if (name !== undefined && typeof name !== "string") return false;
  if (source["bytes"] !== undefined) return isBase64Object(source["bytes"]);
  return isObject(source["location"]) && typeof source["location"]["type"] === "string";
}

function isBase64Object(value: unknown): value is Base64 {
  return isObject(value) && Object.keys(value).length === 1 && isBase64(value["base64"]);
}

export function isBase64(value: unknown): value is string {
  return typeof value === "string" && value.length % 4 === 0 && BASE64.test(value);
}

/** The bytes of a block as Base64, and its format if the block has one; `null` if they are elsewhere. */
export function bytesIn(block: MediaBlock): { readonly format?: string; readonly base64: string } | null {
  const [media] = Object.values(block) as readonly (Base64 | Media)[];
  if (media === undefined) return null;
  if ("base64" in media) return media;
  return "bytes" in media.source ? { format: media.format, base64: media.source.bytes.base64 } : null;
}

/** The value of blocks: null, the value of the only block, or a list. */
export function outputOfBlocks(blocks: readonly ContentBlock[]): unknown {
  const values = blocks.map(valueOf);
  return values.length > 1 ? values : (values[0] ?? null);
}

/** A text or JSON block's value; other blocks stay blocks, so that they are recognized later. */
function valueOf(block: ContentBlock): unknown {
  if ("text" in block) return block.text;
  return "json" in block ? block.json : block;
}
