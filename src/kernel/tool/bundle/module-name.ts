import path from "node:path";
import type { Loader } from "esbuild";

/** Namespaces of the bundler in which modules have displayed names. */
const PREFIX = /^(?:tool|empty|place):/;

/** Suffix for modules whose `package.json` has `"type": "module"`: esbuild sees only their name. */
export const MODULE_MARK = "?.mjs";

/** Files that are modules. */
export const LOADERS: { readonly [extension: string]: Loader } = {
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".jsx": "jsx",
  ".tsx": "tsx",
  ".json": "json",
  ".txt": "text",
};

/** The displayed name of a module. */
export function shownName(name: string): string {
  const shown = name.replace(PREFIX, "");
  return shown.endsWith(MODULE_MARK) ? shown.slice(0, -MODULE_MARK.length) : shown;
}

/** esbuild's loader for a file name; `undefined` if the file is not a module. */
export function loaderOf(file: string): Loader | undefined {
  return LOADERS[path.extname(file)];
}
