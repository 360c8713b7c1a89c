import { createHash } from "node:crypto";
import type { ToolInfo } from "../../kernel/tool/definition.ts";

const toolTexts = new WeakMap<ToolInfo, string>();

/** JSON of a tool's description, made once: a registration never changes it. */
export function toolText(info: ToolInfo): string {
  let text = toolTexts.get(info);
  if (text === undefined) toolTexts.set(info, (text = JSON.stringify(info)));
  return text;
}

/** ETag of a tool: a hash of its public description. */
export function etagOf(info: ToolInfo): string {
  return `"${createHash("sha256").update(toolText(info)).digest("base64url")}"`;
}

/** Whether a header such as `If-None-Match` contains an ETag, or `*`. */
export function namesEtag(header: string, etag: string): boolean {
  return header.split(",").some((one) => [etag, `W/${etag}`, "*"].includes(one.trim()));
}
