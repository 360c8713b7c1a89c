import { readFile } from "node:fs/promises";
import type { Loader, OnLoadResult, OnResolveResult } from "esbuild";
import { ABSENT_GLOBALS, NODE_NAME } from "../../guest/host.ts";
import { withAddition } from "./additions.ts";
import { withoutSearches, withPlainRequires } from "./computed-names.ts";
import type { Manifest } from "./manifest.ts";
import { nativeReason } from "./native.ts";

/** Modules that the bundler itself does not find, or not in the form that an isolate can run. */

/** The namespace of modules that a package may require and that are not installed. */
export const MISSING_NAMESPACE = "missing";

export function missingModule(specifier: string): OnResolveResult {
  return { path: specifier, namespace: MISSING_NAMESPACE };
}

/** Whether a displayed name is that of a package's file, also of one installed for a part of a workspace. */
export function isPackages(shown: string): boolean {
  return /(?:^|\/)node_modules\//.test(shown);
}

/** A package's module as an isolate can run it. `file` is its path. */
export async function runnable(contents: string, loader: Loader, file: string): Promise<string> {
  const text = await withoutSearches(withPlainRequires(contents, false), loader, file);
  return withAddition(withAbsentGlobals(withListedGlobals(asInWorkers(text))), file);
}

/** The condition by which axios detects a worker, which has the web's names but no document. */
const IN_WORKER =
  /typeof WorkerGlobalScope !== (["'])undefined\1 &&\s*(?:\/\/[^\n]*\n\s*)?self instanceof WorkerGlobalScope &&\s*typeof self\.importScripts === (["'])function\2/g;

/** A question whether there is a window; one of the module's own, as a parameter, is mostly that of the global too. */
const WINDOW = /\btypeof window(?![\w$]|\s*\??[.[(])/g;

/**
 * For such a check, an isolate counts as a worker: otherwise a form would be sent with the type of a query. For checks
 * of `window` it is no browser: clients with secret keys refuse to work in one.
 */
function asInWorkers(contents: string): string {
  const text = contents.replaceAll(WINDOW, "typeof void 0");
  if (!text.includes("instanceof WorkerGlobalScope")) return text;
  return text.replaceAll(IN_WORKER, (asked) => `true${asked.replaceAll(/[^\n]/g, "")}`);
}

/** A module that throws when it is evaluated: packages require what only some of their users install. */
export function missingText(specifier: string): OnLoadResult {
  const message =
    nativeReason(specifier) ?? `Cannot find module '${specifier}': install it beside the package that requires it`;
  const error = `Object.assign(new Error(${JSON.stringify(message)}), { code: "MODULE_NOT_FOUND" })`;
  return { contents: `module.exports = {};\nthrow ${error};`, loader: "js" };
}

/** Uses of a document without a check for one before. */
const DOM =
  /\bdocument\.(?:createElement|implementation|body|head)\b|\bnew (?:XMLHttpRequest|DOMParser)\b|\bwindow\.(?:FormData\b|addEventListener\()/;
/** Words of a form that does none of its package's work, or not all of it. */
const SAYS_SO =
  /\b(?:does not work in (?:the )?browsers?|Browser-only version|cannot be used in a synchronous context)\b/;
const ASKS = /typeof (?:document|XMLHttpRequest|DOMParser)\b/;

/** Whether a file belongs to a package's form for browsers and needs a document, which an isolate lacks. */
export async function isForBrowsers(file: string, { leftOut }: Manifest): Promise<boolean> {
  if (leftOut === undefined || !/\.[cm]?js$/.test(file)) return false;
  return isLacking(await readFile(file, "utf8"));
}

/** Whether a module of a form for browsers cannot work in an isolate, and Node's could. */
export function isLacking(text: string): boolean {
  return SAYS_SO.test(text) || needsDocument(text);
}

function needsDocument(text: string): boolean {
  return /\bnew DOMMatrix\b/.test(text) || (DOM.test(text) && !ASKS.test(text));
}

/**
 * A package's file that uses, without a check, globals that an isolate lacks: they get constructors that throw. A file
 * that uses none of them is unchanged.
 */
function withAbsentGlobals(contents: string): string {
  const taken = ABSENT_GLOBALS.filter((name) => contents.includes(name) && isTakenForGranted(name, contents));
  return taken.map((name) => `const ${name} = ${NODE_NAME}.absent("${name}");`).join("") + contents;
}

const LISTS_ALL = /(["'])Atomics\1[^]*(["'])FinalizationRegistry\2/;
const READ_BY_NAME = /\bglobalThis\[(\w+)\](?!\s*=[^=])/g;

/** The same of copies of Node's primordials, as @discordjs/rest has one: they read all globals by names in a list. */
function withListedGlobals(contents: string): string {
  if (!LISTS_ALL.test(contents)) return contents;
  return contents.replaceAll(READ_BY_NAME, `(globalThis[$1] ?? ${NODE_NAME}.absent($1))`);
}

function isTakenForGranted(name: string, contents: string): boolean {
  const declared = new RegExp(
    String.raw`typeof ${name}\b|\b(?:class|function|const|let|var) ${name}\b|\bimport [^;\n]*\b${name}\b|\b(?:const|let|var)\s*\{[^}]*\b${name}\b`,
  );
  return new RegExp(String.raw`(?<![.\w$"'])${name}\b(?!["':])`).test(contents) && !declared.test(contents);
}
