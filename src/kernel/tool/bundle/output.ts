import path from "node:path";
import type { OutputFile } from "esbuild";
import { type GloveboxError, loadError } from "../../base/errors.ts";
import type { Bundle } from "./bundle.ts";
import type { ToolFiles } from "./files.ts";
import { shownName } from "./module-name.ts";
import { writeSourceMap } from "./source-map.ts";

/** What the bundler returns. */

export const MAX_BUNDLE_BYTES = 16 * 1024 * 1024;

export function scriptOf(output: readonly OutputFile[], files: ToolFiles, name: string): string {
  const found = output.find((one) => path.basename(one.path) === "tool.js");
  if (found === undefined) throw loadError(name, "could not be bundled: the bundler returned no script");
  const bytes = found.contents.byteLength;
  if (bytes > MAX_BUNDLE_BYTES) throw tooLarge(name, bytes, files);
  return found.text;
}

export function tooLarge(name: string, bytes: number, files: ToolFiles): GloveboxError {
  const largest = files.largest();
  const remedy = largest === "" ? "import less" : `import less; ${largest}`;
  return loadError(name, `is ${bytes} bytes when bundled, more than ${MAX_BUNDLE_BYTES}; ${remedy}`);
}

/** `undefined` without a readable one. */
export function mapOf(output: readonly OutputFile[]): string | undefined {
  const found = output.find((one) => path.basename(one.path) === "tool.js.map");
  return found === undefined || found.contents.byteLength > MAX_BUNDLE_BYTES ? undefined : found.text;
}

/**
 * A bundle's source map, as JSON. A tool's own source map comments may put any text into `sources`. The engine maps stacks
 * without the other members.
 */
export function cleanMap(text: string | undefined, known: ReadonlySet<string>): Pick<Bundle, "sourceMap" | "sources"> {
  if (text === undefined) return { sourceMap: "", sources: [...known] };
  const map: { sources: string[]; mappings: string } = JSON.parse(text);
  const sources = map.sources.map((source) => {
    const name = shownName(source);
    return known.has(name) ? name : path.basename(name.replaceAll("\\", "/"));
  });
  return { sourceMap: writeSourceMap(sources, map.mappings), sources };
}
