import { isObject } from "../../base/json.ts";
import { bytesIn, isBase64, isMediaBlock, type MediaBlock } from "../../base/schema/content-blocks.ts";
import { textOf } from "./text-form.ts";

/** Audience and priority of a block. */
interface McpBlockAnnotations {
  audience?: ("user" | "assistant")[];
  priority?: number;
  lastModified?: string;
}

type Described = { annotations?: McpBlockAnnotations; _meta?: { [key: string]: unknown } };
type Resource = { uri: string; mimeType?: string; _meta?: { [key: string]: unknown } };

/** A block of a tool's result. Binary data are Base64. */
export type McpBlock = Described &
  (
    | { type: "text"; text: string }
    | { type: "image" | "audio"; data: string; mimeType: string }
    | { type: "resource"; resource: (Resource & { text: string }) | (Resource & { blob: string }) }
    | ({ type: "resource_link"; name: string; title?: string; description?: string; size?: number } & Resource)
  );

/** An output that is content for people and models, rather than data. */
export interface McpContent {
  readonly content: McpBlock[];
  /** Data in addition to the content, in a result of the protocol. */
  readonly structuredContent?: { readonly [key: string]: unknown };
  readonly isError?: true;
}

/** Maximum numbers of blocks, and of members in the `_meta` of one: the protocol's library checks each on the host. */
const BLOCKS_MAX = 256;
const META_MAX = 64;
const RESULT_MEMBERS: ReadonlySet<string> = new Set(["content", "structuredContent", "isError", "_meta"]);
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** Media types of images by the first characters of their Base64. */
const IMAGE_TYPES: readonly (readonly [start: string, mimeType: string])[] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGODdh", "image/gif"],
  ["R0lGODlh", "image/gif"],
  ["UklGR", "image/webp"],
];

/** Media types of documents and videos by their formats. */
const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ["pdf", "application/pdf"],
  ["csv", "text/csv"],
  ["doc", "application/msword"],
  ["docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  ["xls", "application/vnd.ms-excel"],
  ["xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  ["html", "text/html"],
  ["txt", "text/plain"],
  ["md", "text/markdown"],
  ["mp4", "video/mp4"],
  ["mpeg", "video/mpeg"],
  ["mpg", "video/mpeg"],
  ["mov", "video/quicktime"],
  ["mkv", "video/x-matroska"],
  ["webm", "video/webm"],
  ["wmv", "video/x-ms-wmv"],
  ["flv", "video/x-flv"],
  ["three_gp", "video/3gpp"],
]);

/** Content at the beginning or the end of a long output. */
const CONTENT = /"content":\s*\[|"type":\s*"(?:image|audio|resource|resource_link)"|"image":\s*\{"base64"/;
const CONTENT_WITHIN = 256;

/** Whether an output may be content, by the ends of its JSON: other outputs need not be parsed. */
export function mayBeContent(json: readonly string[]): boolean {
  const [first = ""] = json;
  const last = json.at(-1) ?? "";
  return CONTENT.test(first.slice(0, CONTENT_WITHIN)) || CONTENT.test(last.slice(-CONTENT_WITHIN));
}

/**
 * The content of an output; `null` if it is data. Content is a result of the protocol, `{ content: [...] }` of objects
 * with a `type`; an image, audio, resource or resource link of the protocol; an image, document or video of Strands; or a list with one of
 * these. Its other parts become text, and so do blocks of other types and those that clients would refuse.
 */
export function contentOf(output: unknown): McpContent | null {
  if (Array.isArray(output)) return contentOfList(output);
  if (!isObject(output)) return null;
  if (Array.isArray(output["content"])) return contentOfResult(output, output["content"]);
  const block = readMedia(output);
  return block === null ? null : { content: [block] };
}

function contentOfList(values: readonly unknown[]): McpContent | null {
  if (values.length > BLOCKS_MAX) return null;
  const blocks = values.map(readMedia);
  if (blocks.every((block) => block === null)) return null;
  return { content: blocks.map((block, index) => block ?? readText(values[index]) ?? asText(values[index])) };
}

function contentOfResult(result: Readonly<Record<string, unknown>>, blocks: readonly unknown[]): McpContent | null {
  const { structuredContent, isError = false } = result;
  if (!Object.keys(result).every((name) => RESULT_MEMBERS.has(name))) return null;
  if (blocks.length === 0 || blocks.length > BLOCKS_MAX) return null;
  if (!blocks.every((block) => isObject(block) && typeof block["type"] === "string")) return null;
  if (typeof isError !== "boolean" || (structuredContent !== undefined && !isObject(structuredContent))) return null;
  return {
    content: blocks.map((block) => readMedia(block) ?? readText(block) ?? asText(block)),
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(isError ? { isError } : {}),
  };
}

function asText(value: unknown): McpBlock {
  return { type: "text", text: textOf(value) };
}

/** A text, or a block of one; `null` if it is malformed. */
function readText(value: unknown): McpBlock | null {
  if (typeof value === "string") return asText(value);
  if (!isObject(value) || value["type"] !== "text" || typeof value["text"] !== "string") return null;
  const described = readDescribed(value);
  return described && { type: "text", text: value["text"], ...described };
}

/** A block other than text; `null` if it is another value, or malformed. */
function readMedia(value: unknown): McpBlock | null {
  if (!isObject(value)) return null;
  if (isMediaBlock(value)) return readBlock(value);
  const { type, data, mimeType } = value;
  const described = readDescribed(value);
  if (described === null) return null;
  switch (type) {
    case "image":
    case "audio":
      if (!isBase64(data) || typeof mimeType !== "string") return null;
      return { type, data, mimeType, ...described };
    case "resource": {
      const resource = readContents(value["resource"]);
      return resource && { type, resource, ...described };
    }
    case "resource_link": {
      const place = readResource(value);
      const texts = readTexts(value, ["title", "description"]);
      const { name, size } = value;
      if (place === null || texts === null || typeof name !== "string") return null;
      if (size !== undefined && typeof size !== "number") return null;
      return { type, name, ...place, ...texts, ...(size === undefined ? {} : { size }), ...described };
    }
    default:
      return null;
  }
}

/** The media type of an image, by the first bytes of its Base64. */
export function imageTypeOf(data: string): string | undefined {
  return IMAGE_TYPES.find(([start]) => data.startsWith(start))?.[1];
}

/** An image, a document or a video of Strands; `null` if its kind is unknown, or its bytes are elsewhere. */
function readBlock(block: MediaBlock): McpBlock | null {
  const bytes = bytesIn(block);
  if (bytes === null) return null;
  const { base64: data, format } = bytes;
  if ("image" in block) {
    const mimeType = format === undefined ? imageTypeOf(data) : `image/${format}`;
    return mimeType === undefined ? null : { type: "image", data, mimeType };
  }
  const [kind, name] = "document" in block ? ["document", block.document.name] : ["video", block.video.name];
  const uri = `attachment:///${encodeURIComponent((name ?? kind).toWellFormed())}.${format ?? ""}`;
  const mimeType = MEDIA_TYPES.get(format ?? "");
  return { type: "resource", resource: { uri, ...(mimeType === undefined ? {} : { mimeType }), blob: data } };
}

function readContents(value: unknown): (Resource & { text: string }) | (Resource & { blob: string }) | null {
  const resource = isObject(value) ? readResource(value) : null;
  if (resource === null || !isObject(value)) return null;
  const { text, blob, _meta: meta } = value;
  if (meta !== undefined && !isMeta(meta)) return null;
  const described = meta === undefined ? {} : { _meta: meta };
  if (typeof text === "string") return { ...resource, text, ...described };
  return isBase64(blob) ? { ...resource, blob, ...described } : null;
}

function readResource(value: Readonly<Record<string, unknown>>): Resource | null {
  const { uri } = value;
  const texts = readTexts(value, ["mimeType"]);
  return typeof uri === "string" && texts !== null ? { uri, ...texts } : null;
}

/** Optional texts; `null` if one is not a text. */
function readTexts<Name extends string>(
  value: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): { [key in Name]?: string } | null {
  const said = names.filter((name) => value[name] !== undefined);
  if (!said.every((name) => typeof value[name] === "string")) return null;
  return Object.fromEntries(said.map((name) => [name, value[name]])) as { [key in Name]?: string };
}

/** Common members of all blocks; `null` if they are malformed. */
function readDescribed({ annotations, _meta: meta }: Readonly<Record<string, unknown>>): Described | null {
  if (meta !== undefined && !isMeta(meta)) return null;
  const said = meta === undefined ? {} : { _meta: meta };
  if (annotations === undefined) return said;
  if (!isObject(annotations)) return null;
  const { audience, priority, lastModified } = annotations;
  if (audience !== undefined && !isAudience(audience)) return null;
  if (priority !== undefined && !(typeof priority === "number" && priority >= 0 && priority <= 1)) return null;
  if (lastModified !== undefined && !(typeof lastModified === "string" && DATE.test(lastModified))) return null;
  const read = {
    ...(audience === undefined ? {} : { audience }),
    ...(priority === undefined ? {} : { priority }),
    ...(lastModified === undefined ? {} : { lastModified }),
  };
  return { ...said, annotations: read };
}

function isAudience(value: unknown): value is ("user" | "assistant")[] {
  return Array.isArray(value) && value.length <= 2 && value.every((each) => each === "user" || each === "assistant");
}

function isMeta(value: unknown): value is { [key: string]: unknown } {
  return isObject(value) && Object.keys(value).length <= META_MAX;
}
