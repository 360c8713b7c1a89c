import { type ContentBlock, isMediaBlock, outputOfBlocks } from "../../../kernel/base/schema/content-blocks.ts";

type BlockKind = "text" | "json" | "image" | "document" | "video";

/** The value of blocks, and their kinds if the value does not imply them. */
interface BlockValue {
  readonly output: unknown;
  readonly metadata?: { readonly contentKinds: readonly BlockKind[] };
}

/**
 * The value of blocks: null, the value of the only block, or a list. If writing that value would produce other blocks,
 * the metadata record the kinds.
 */
export function readBlocks(blocks: readonly ContentBlock[]): BlockValue {
  const output = outputOfBlocks(blocks);
  const kinds = blocks.map(kindOf);
  if (kinds.length === 0) return { output };
  if (kinds.length === 1 && output !== null && kindFor(output) === kinds[0]) return { output };
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
  if (kind === "json") return { json: value };
  return isMediaBlock(value) && kindOf(value) === kind ? value : null;
}

function kindOf(block: ContentBlock): BlockKind {
  if ("text" in block) return "text";
  if ("json" in block) return "json";
  if ("image" in block) return "image";
  return "document" in block ? "document" : "video";
}

/** The default kind of block for a value. */
function kindFor(value: unknown): BlockKind {
  if (typeof value === "string") return "text";
  return isMediaBlock(value) ? kindOf(value) : "json";
}
