import { type ToolResult, writableOutput } from "../../base/result.ts";
import { contentOf, imageTypeOf, type McpBlock } from "./mcp-content.ts";
import { FAILED, textOf } from "./text-form.ts";

/** A part of a result as a model gets it: a text, or media as Base64. */
export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "media"; readonly mimeType: string; readonly data: string };

/** Whether a form shows media of a type. */
export type Shows = (mimeType: string) => boolean;

interface OutputParts {
  /** At least one, unless the call failed. */
  readonly parts: readonly ModelPart[];
  /** Whether the output is content marked as an error. */
  readonly isError: boolean;
}

/** APIs refuse requests with more images, or with larger ones, and a refused request ends a conversation. */
const MEDIA_MAX = 20;
const MEDIA_CHARS_MAX = 5 * 1024 * 1024;
/** A link is not cut as texts are. */
const LINK_CHARS_MAX = 2_000;
const MIME_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/;
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** For forms that hold images, of the types that their APIs take. */
export const SHOWS_IMAGES: Shows = (mimeType) => IMAGES.has(mimeType);
/** For forms with only text. */
export const SHOWS_NOTHING: Shows = () => false;

/**
 * A result's output in parts: content for clients of MCP is content for models, too. Media that the form does not show
 * are named by a text, so that no Base64 is read as text. Any other output is one text.
 */
export function outputParts(result: ToolResult, shows: Shows): OutputParts {
  const output = writableOutput(result);
  const content = contentOf(output);
  if (content === null) return { parts: textPartsOf(output, result.error !== null), isError: false };
  const { structuredContent, isError = false } = content;
  let media = 0;
  const parts = content.content.map((block) => {
    const part = partOf(block, media < MEDIA_MAX ? shows : SHOWS_NOTHING);
    if (part.type === "media") media++;
    return part;
  });
  if (structuredContent !== undefined) {
    const json = textOf(structuredContent);
    if (!parts.some((part) => part.type === "text" && part.text === json)) parts.push(textPart(json));
  }
  // APIs refuse blank texts among others.
  const said = parts.filter((part) => part.type === "media" || /\S/.test(part.text));
  if (said.length > 0 || result.error !== null) return { parts: said, isError };
  return { parts: [textPart(isError ? "The tool has failed, and says nothing." : "")], isError };
}

/** A result in parts, for forms in which a text reports a failed call. */
export function resultParts(result: ToolResult, shows: Shows): readonly ModelPart[] {
  const { parts, isError } = outputParts(result, shows);
  if (result.error !== null) return [textPart(FAILED + result.error.message), ...parts];
  if (!isError) return parts;
  const [first, ...rest] = parts;
  return first?.type === "text"
    ? [textPart(FAILED + first.text), ...rest]
    : [textPart(`${FAILED}the tool has failed`), ...parts];
}

/** The texts of a result, for forms with only texts. */
export function resultTexts(result: ToolResult): readonly string[] {
  return textsOf(resultParts(result, SHOWS_NOTHING));
}

/** The texts of parts. */
export function textsOf(parts: readonly ModelPart[]): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

/** Parts in a form's own blocks; one text is a string. */
export function writeParts<Block>(parts: readonly ModelPart[], write: (part: ModelPart) => Block): string | Block[] {
  const [first] = parts;
  if (first === undefined) return "";
  return parts.length === 1 && first.type === "text" ? first.text : parts.map(write);
}

function textPart(text: string): ModelPart {
  return { type: "text", text };
}

/** The output of a call, also the partial output of one that failed. */
function textPartsOf(output: unknown, hasFailed: boolean): readonly ModelPart[] {
  const text = hasFailed && (output === null || output === undefined) ? "" : textOf(output);
  return hasFailed && text === "" ? [] : [textPart(text)];
}

function partOf(block: McpBlock, shows: Shows): ModelPart {
  switch (block.type) {
    case "text":
      return textPart(block.text);
    case "image":
    case "audio":
      return mediaPart(block.type, block.mimeType, block.data, shows);
    case "resource": {
      const { resource } = block;
      return "text" in resource
        ? textPart(resource.text)
        : mediaPart("file", resource.mimeType ?? "", resource.blob, shows);
    }
    case "resource_link": {
      const { annotations: _for, _meta, ...link } = block;
      return textPart(textOf(link).slice(0, LINK_CHARS_MAX).toWellFormed());
    }
  }
}

/** Media, or the text that names them. APIs refuse an image whose declared type contradicts its bytes. */
function mediaPart(kind: string, declared: string, data: string, shows: Shows): ModelPart {
  const said = MIME_TYPE.test(declared) ? declared.toLowerCase() : null;
  const mimeType = kind === "image" || said?.startsWith("image/") === true ? (imageTypeOf(data) ?? said) : said;
  const isInBounds = data !== "" && data.length <= MEDIA_CHARS_MAX;
  if (mimeType !== null && isInBounds && shows(mimeType)) return { type: "media", mimeType, data };
  return textPart(`[${mimeType ?? kind}, ${sizeOf(data)}: this format cannot show it]`);
}

function sizeOf(base64: string): string {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  const bytes = (base64.length / 4) * 3 - padding;
  return bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`;
}
