import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Loader, OnLoadResult } from "esbuild";
import { TARGET } from "./imports.ts";

/** A bundle of a whole tool, or of its half for calls. */
export type Half = "whole" | "call";

/** Text of the module that describes schemas, which imports nothing: in a clone of the repository it is TypeScript. */
let describer: { readonly text: string; readonly loader: Loader } | undefined;

function describerText(): { readonly text: string; readonly loader: Loader } {
  if (describer === undefined) {
    const isSource = extname(import.meta.url) === ".ts";
    const file = new URL(`../../base/schema/describe-schema${isSource ? ".ts" : ".js"}`, import.meta.url);
    describer = { text: readFileSync(fileURLToPath(file), "utf8"), loader: isSource ? "ts" : "js" };
  }
  return describer;
}

/** A call has no use for the tool's description, but may undo another one. */
const FOR_CALLS =
  'export const defineTool = (tool) => typeof tool.undo === "function" ? { ...tool, "~tool": () => null } : tool.run;\nexport const toolFactory = () => defineTool;\n';
/** The mark by which the guest recognises a tool, and describes its schemas. */
const FOR_ALL =
  'export const defineTool = (tool) => ({ ...tool, "~tool": describeSchema });\nexport const toolFactory = () => defineTool;\n';

/** The module `glovebox/tool` as tools import it. No package needs to be installed. */
export function toolEntryText(half: Half): OnLoadResult {
  if (half === "call") return { contents: FOR_CALLS, loader: "js" };
  const { text, loader } = describerText();
  return { contents: `${text}\n${FOR_ALL}`, loader };
}

/** A module as JavaScript without being bundled, with a source map in its last line. */
export async function asScript(contents: string, loader: Loader, shown: string, tsconfigRaw = "{}"): Promise<string> {
  const { transform } = await import("esbuild");
  const { code } = await transform(contents, {
    loader,
    sourcefile: shown,
    sourcemap: "inline",
    sourcesContent: false,
    target: TARGET,
    charset: "utf8",
    legalComments: "none",
    tsconfigRaw,
    logLevel: "silent",
  });
  return code;
}
