import { readFile } from "node:fs/promises";
import type { Loader, OnLoadResult, OnResolveResult } from "esbuild";
import { ABSENT_GLOBALS, NODE_NAME } from "../../guest/host.ts";
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
  const more = ADDITIONS.find(([path]) => path.test(file))?.[1] ?? "";
  return withAbsentGlobals(withListedGlobals(asInWorkers(text))) + more;
}

/** Additions to files of packages, each with the path of its file. */
const ADDITIONS = [
  /**
   * The web's classes in undici are replaced by the isolate's own: undici's would need sockets. Those of Node are made
   * on use.
   */
  [
    /[\\/]node_modules[\\/]undici[\\/]index\.js$/,
    `
{
  const { fetch, Headers, Request, Response, FormData } = globalThis;
  Object.assign(module.exports, { fetch, Headers, Request, Response, FormData });
  Object.defineProperties(module.exports, {
    WebSocket: { get: () => globalThis.WebSocket },
    EventSource: { get: () => globalThis.EventSource },
    MessageEvent: { get: () => globalThis.MessageEvent },
    CloseEvent: { get: () => globalThis.CloseEvent },
  });
}
`,
  ],
  /**
   * esbuild writes no types for decorators, and containers, which need those of a constructor, fail in another place. A
   * class whose parameters have decorators tells them its needs.
   */
  [
    /[\\/]node_modules[\\/]reflect-metadata[\\/]Reflect(?:Lite)?\.js$/,
    `
{
  const { Reflect } = globalThis;
  const { getMetadata } = Reflect;
  const told = new Set();
  Reflect.getMetadata = (key, target, ...property) => {
    const found = getMetadata(key, target, ...property);
    if (found !== undefined || key !== "design:paramtypes" || property.length > 0) return found;
    const isSilent = typeof target !== "function" || target.length === 0 || Reflect.getOwnMetadataKeys(target).length > 0;
    if (!isSilent && !told.has(target)) {
      told.add(target);
      console.warn(\`\${target.name} has no "design:paramtypes": bundling leaves out what emitDecoratorMetadata would write; name what the constructor takes in decorators, such as @Inject(Log), or register what tsc makes of the tool\`);
    }
    return found;
  };
}
`,
  ],
] as const;

/** The condition by which axios detects a worker, which has the web's names but no document. */
const IN_WORKER =
  /typeof WorkerGlobalScope !== (["'])undefined\1 &&\s*(?:\/\/[^\n]*\n\s*)?self instanceof WorkerGlobalScope &&\s*typeof self\.importScripts === (["'])function\2/g;

/** For such a check, an isolate counts as a worker: otherwise a form would be sent with the type of a query. */
function asInWorkers(contents: string): string {
  if (!contents.includes("instanceof WorkerGlobalScope")) return contents;
  return contents.replaceAll(IN_WORKER, (asked) => `true${asked.replaceAll(/[^\n]/g, "")}`);
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
  /\bdocument\.(?:createElement|implementation|body|head)\b|\bnew (?:XMLHttpRequest|DOMParser)\b|\bwindow\.FormData\b/;
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
  return DOM.test(text) && !ASKS.test(text);
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
