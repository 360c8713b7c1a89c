import { forModel, type ModelOptions, type ToolRunner } from "../../kernel/tool/contracts/runner.ts";
import { type StrandsResult, strands } from "./contract/strands.ts";
import type { ContentBlock, Media } from "../../kernel/base/schema/content-blocks.ts";

/** Media with their bytes, or with the place of the bytes. */
export interface NativeMedia extends Omit<Media, "source"> {
  readonly source: { readonly bytes: Uint8Array } | Exclude<Media["source"], { readonly bytes: unknown }>;
}

/** A content block in the form for Strands tools: with bytes in place of Base64. */
export type NativeBlock =
  | { readonly text: string }
  | { readonly json: unknown }
  | { readonly image: Uint8Array | NativeMedia }
  | { readonly document: NativeMedia }
  | { readonly video: NativeMedia };

export interface NativeResult extends Omit<StrandsResult, "content"> {
  readonly content: readonly NativeBlock[];
}

/**
 * Wraps an engine's tool as a function of Strands' contract: takes `{ toolUseId, input }`, returns a result in content
 * blocks with the same id. Failures of the tool are results; they never reject. With `modelChars`, a long output is
 * cut, and the function of `read_output` reads further parts.
 */
export function toolFunction(engine: ToolRunner, name: string, { modelChars }: ModelOptions = {}) {
  const runner = modelChars === undefined ? engine : forModel(engine, { modelChars });
  return async (tool: { readonly toolUseId?: string; readonly input?: object }): Promise<NativeResult> => {
    const call = strands.readCall({ ...tool, name });
    const { status, content } = strands.writeResult(await runner.execute(call));
    return { toolUseId: tool.toolUseId ?? "", status, content: content.map(withBytes) };
  };
}

function withBytes(block: ContentBlock): NativeBlock {
  if ("document" in block) return { document: nativeMedia(block.document) };
  if ("video" in block) return { video: nativeMedia(block.video) };
  if (!("image" in block)) return block;
  return { image: "base64" in block.image ? bytesOf(block.image.base64) : nativeMedia(block.image) };
}

function nativeMedia(media: Media): NativeMedia {
  const { source } = media;
  return { ...media, source: "bytes" in source ? { bytes: bytesOf(source.bytes.base64) } : source };
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}
