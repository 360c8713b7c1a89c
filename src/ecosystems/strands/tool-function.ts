import type { ToolRunner } from "../../tool/contracts/runner.ts";
import { type StrandsResult, strands } from "../../tool/contracts/strands.ts";
import type { ContentBlock } from "../../base/schema/content-blocks.ts";

/** A content block as Strands tools see it: with an image's bytes. */
export type NativeBlock = Exclude<ContentBlock, { readonly image: unknown }> | { readonly image: Uint8Array };

export interface NativeResult extends Omit<StrandsResult, "content"> {
  readonly content: readonly NativeBlock[];
}

/**
 * Wraps an engine's tool as a function of Strands' contract: takes `{ toolUseId, input }`, returns a result in content
 * blocks with the same id. Failures of the tool are results; they never reject.
 */
export function toolFunction(runner: ToolRunner, name: string) {
  return async (tool: { readonly toolUseId?: string; readonly input?: object }): Promise<NativeResult> => {
    const call = strands.readCall({ ...tool, name });
    const { status, content } = strands.writeResult(await runner.execute(call));
    return { toolUseId: tool.toolUseId ?? "", status, content: content.map(withBytes) };
  };
}

function withBytes(block: ContentBlock): NativeBlock {
  return "image" in block ? { image: new Uint8Array(Buffer.from(block.image.base64, "base64")) } : block;
}
