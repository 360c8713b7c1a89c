import type { RemoteTool, RemoteTools } from "../remote-tool.ts";
import type { ListedTools } from "./messages.ts";

/** A list of tools as the text of a build process's job: each tool is JSON already, which the host does not read. */
export function writeListed({ tools, findings }: ListedTools): string {
  return `{"tools":[${tools.join(",")}],"findings":${JSON.stringify(findings)}}`;
}

/** Reads what `writeListed` wrote. Runs in a build process. */
export function readListed(text: string): RemoteTools {
  const { tools, findings } = JSON.parse(text) as RemoteTools & { readonly tools: readonly RemoteTool[] };
  return { tools, findings };
}
