import { createRequire } from "node:module";
import path from "node:path";
import type { Loader, Message, OnLoadResult } from "esbuild";

/** Modules that the bundler does not find by itself, or not in the form that an isolate can run. */

/** The file that Node.js would load; `undefined` if there is none. */
export function resolvedByNode(specifier: string, folder: string): string | undefined {
  try {
    return createRequire(path.join(folder, "index.js")).resolve(specifier);
  } catch {
    return undefined;
  }
}

/** A module that throws when it is evaluated: packages require what only some of their users install. */
export function missingText(specifier: string): OnLoadResult {
  const message = `Cannot find module '${specifier}': install it beside the package that requires it`;
  const error = `Object.assign(new Error(${JSON.stringify(message)}), { code: "MODULE_NOT_FOUND" })`;
  return { contents: `module.exports = {};\nthrow ${error};`, loader: "js" };
}

/** A call whose argument begins with a text and is more than that. */
const MAY_SEARCH = /\b(?:require|import)\s*\(\s*(?:["'][^"'\n]*["']\s*\+|`[^`]*\$\{)/;

/**
 * A package's module in which `require` and `import` of computed names fail when they are called: the bundler would
 * search for files that match them.
 */
export async function withoutSearches(contents: string, loader: Loader): Promise<string> {
  if (!MAY_SEARCH.test(contents)) return contents;
  const { transform } = await import("esbuild");
  const { warnings } = await transform(contents, {
    loader,
    format: "esm",
    logLevel: "silent",
    tsconfigRaw: "{}",
    logOverride: { "unsupported-dynamic-import": "warning", "unsupported-require-call": "warning" },
  });
  return replaceCalls(contents, warnings);
}

const LATE: ReadonlyMap<string, string> = new Map([
  ["unsupported-require-call", "(0, require)"],
  ["unsupported-dynamic-import", "(async (name) => { throw new Error(`Cannot find module '${name}'`); })"],
]);

/** Messages say where a call begins, in bytes of its line. */
function replaceCalls(contents: string, messages: readonly Message[]): string {
  const lines = contents.split("\n");
  for (const { id, location } of messages.toReversed()) {
    const late = LATE.get(id);
    if (late === undefined || location === null) continue;
    const bytes = Buffer.from(lines[location.line - 1] ?? "");
    const end = location.column + location.length;
    lines[location.line - 1] = `${bytes.subarray(0, location.column)}${late}${bytes.subarray(end)}`;
  }
  return lines.join("\n");
}

/** Uses of a document that nothing asks for before. */
const DOM = /\bdocument\.(?:createElement|implementation|body|head)\b|\bnew XMLHttpRequest\b|\bwindow\.FormData\b/;
const ASKS = /typeof (?:document|XMLHttpRequest)\b/;

/** Whether a package's form for browsers needs a document, which an isolate has not. */
export function wantsDocument(text: string): boolean {
  return DOM.test(text) && !ASKS.test(text);
}
