import { isObject, memberOf } from "../../base/json.ts";
import type { McpBlock, McpContent } from "../../tool/contracts/mcp-content.ts";

/** Characters for texts if media have taken all of them, and minimum below which a text is left out. */
const TEXTS_MIN = 2_000;
const TEXT_MIN = 1_000;

/** A text of some content to be cut to `chars`. `pointer`: its place in the output. */
export interface ContentPart {
  readonly text: string;
  readonly chars: number;
  readonly pointer: string;
}

type ShowPart = (part: ContentPart) => Promise<string>;

/**
 * Makes content of at most `most` characters: texts are cut, media are not, but count. `null` if nothing is to be cut.
 * Returns the function that cuts it by `show`, which shows a text in part.
 */
export function cutContent(
  { content, structuredContent, isError }: McpContent,
  output: unknown,
  most: number,
): ((show: ShowPart) => Promise<McpContent>) | null {
  const data = structuredContent === undefined ? 0 : JSON.stringify(structuredContent).length;
  const media = content.reduce((sum, block) => sum + (textIn(block) === null ? lengthOf(block) : 0), 0);
  const texts = content.reduce((sum, block) => sum + (textIn(block)?.length ?? 0), 0);
  const room = Math.max(TEXTS_MIN, most - media);
  if (data + texts <= room) return null;
  return async (show) => {
    let left = room;
    let omitted = 0;
    const blocks: McpBlock[] = [];
    for (const [at, block] of content.entries()) {
      const text = textIn(block);
      if (text === null) blocks.push(block);
      else if (text.length <= left) {
        left -= text.length;
        blocks.push(block);
      } else if (left < TEXT_MIN) omitted++;
      else {
        blocks.push(withText(block, await show({ text, chars: left, pointer: placeOf(output, at) })));
        left = 0;
      }
    }
    if (omitted > 0) blocks.push({ type: "text", text: `[${omitted} more texts are left out here.]` });
    return {
      content: blocks,
      ...(structuredContent === undefined || data > left ? {} : { structuredContent }),
      ...(isError === undefined ? {} : { isError }),
    };
  };
}

/** The text of a block, or of the resource in it; `null` if it has none. */
function textIn(block: McpBlock): string | null {
  if (block.type === "text") return block.text;
  return block.type === "resource" && "text" in block.resource ? block.resource.text : null;
}

function withText(block: McpBlock, text: string): McpBlock {
  if (block.type === "resource" && "text" in block.resource) {
    return { ...block, resource: { ...block.resource, text } };
  }
  return { ...block, type: "text", text };
}

function lengthOf(block: McpBlock): number {
  switch (block.type) {
    case "image":
    case "audio":
      return block.data.length;
    case "resource":
      return "blob" in block.resource ? block.resource.blob.length : 0;
    default:
      return JSON.stringify(block).length;
  }
}

/** Pointer to the text of a block in the output that was read as content. */
function placeOf(output: unknown, at: number): string {
  const inner = memberOf(output, "content");
  const list = Array.isArray(output) ? output : Array.isArray(inner) ? inner : null;
  // A block alone is the output itself.
  const place = list === null ? "" : list === output ? `/${at}` : `/content/${at}`;
  const value: unknown = list === null ? output : list[at];
  if (!isObject(value)) return place;
  if (value["type"] === "text") return `${place}/text`;
  return typeof memberOf(value["resource"], "text") === "string" ? `${place}/resource/text` : place;
}
