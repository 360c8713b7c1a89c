import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type { Loader, Message, OnLoadResult, OnResolveResult } from "esbuild";
import { NODE_NAME } from "../../guest/host.ts";
import type { Manifest } from "./manifest.ts";

/** Modules that the bundler does not find by itself, or not in the form that an isolate can run. */

/** The file that Node.js would load; `undefined` if no encoding has that name. */
export function resolvedByNode(specifier: string, folder: string): string | undefined {
  try {
    return createRequire(path.join(folder, "index.js")).resolve(specifier);
  } catch {
    return undefined;
  }
}

/** The namespace of modules that a package may require and nobody installed. */
export const MISSING_NAMESPACE = "missing";

export function missingModule(specifier: string): OnResolveResult {
  return { path: specifier, namespace: MISSING_NAMESPACE };
}

/** Whether a displayed name is that of a package's file, also of one that is installed for a part of a workspace. */
export function isPackages(shown: string): boolean {
  return /(?:^|\/)node_modules\//.test(shown);
}

/** The folder of the package that a path belongs to; empty for none. */
export function packageFolder(file: string): string {
  return /^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/.exec(file)?.[0] ?? "";
}

/** A package's module as an isolate can run it. */
export async function runnable(contents: string, loader: Loader): Promise<string> {
  return withAbsentGlobals(await withoutSearches(contents, loader));
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
async function withoutSearches(contents: string, loader: Loader): Promise<string> {
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
    lines[location.line - 1] = bytes.toString("utf8", 0, location.column) + late + bytes.toString("utf8", end);
  }
  return lines.join("\n");
}

/** Uses of a document that nothing asks for before. */
const DOM = /\bdocument\.(?:createElement|implementation|body|head)\b|\bnew XMLHttpRequest\b|\bwindow\.FormData\b/;
const ASKS = /typeof (?:document|XMLHttpRequest)\b/;

/** Whether a file is of a package's form for browsers and needs a document, which an isolate has not. */
export async function isForBrowsers(file: string, { leftOut }: Manifest): Promise<boolean> {
  if (leftOut === undefined || !/\.[cm]?js$/.test(file)) return false;
  const text = await readFile(file, "utf8");
  return DOM.test(text) && !ASKS.test(text);
}

/** Globals of Node without a stand-in. A file that asks for none of them is left alone. */
const ABSENT = [
  "SharedArrayBuffer",
  "MessagePort",
  "MessageChannel",
  "BroadcastChannel",
  "FinalizationRegistry",
  "WeakRef",
];

/** A package's file that takes globals for granted which an isolate has not: they exist there, and refuse to be made. */
function withAbsentGlobals(contents: string): string {
  const taken = ABSENT.filter((name) => contents.includes(name) && isTakenForGranted(name, contents));
  return taken.map((name) => `const ${name} = ${NODE_NAME}.absent("${name}");`).join("") + contents;
}

function isTakenForGranted(name: string, contents: string): boolean {
  const declared = new RegExp(
    String.raw`typeof ${name}\b|\b(?:class|function|const|let|var) ${name}\b|\bimport [^;\n]*\b${name}\b|\b(?:const|let|var)\s*\{[^}]*\b${name}\b`,
  );
  return new RegExp(String.raw`(?<![.\w$"'])${name}\b(?!["':])`).test(contents) && !declared.test(contents);
}
