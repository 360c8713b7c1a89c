import { readFile } from "node:fs/promises";
import type { Manifest } from "./manifest.ts";
import { bareName, isInLibrary, isNodeBuiltin } from "./node-names.ts";

/** Forms of packages that do less than Node's, without an error at their import. */

/**
 * Whether a package's file does less than the one that Node.js would load, and an isolate can run the latter. If Node's
 * form uses the network, the other form uses `fetch`, which suits an isolate better.
 */
export async function isLesser(file: string, nodes: string, manifest: Manifest): Promise<boolean> {
  const isForNodeAlone = manifest.conditions.has("node") && !BROWSERS.some((name) => manifest.conditions.has(name));
  if (!isForNodeAlone && manifest.leftOut === undefined) return false;
  const [given, whole] = await Promise.all([readFile(file, "utf8"), readFile(nodes, "utf8")]);
  // Neither form works, and the given one reports the reason.
  if (whole.includes(".wasm")) return false;
  const needed = modulesOf(whole);
  if (![...needed].every((name) => RUNS.has(name) || (isInLibrary(name) && !NETWORK.has(name)))) return false;
  // The package separates Node from all other platforms, and an isolate is more like Node: it has the requirements of
  // Node's form.
  if (isForNodeAlone) return !needed.isSubsetOf(modulesOf(given));
  return lacksExports(given, whole);
}

const BROWSERS = ["browser", "worker"];
/** Modules of which an isolate has only names, but with which packages work: they find files, and packages. */
const RUNS: ReadonlySet<string> = new Set(["fs", "fs/promises", "module"]);
const NETWORK: ReadonlySet<string> = new Set(["http", "https"]);
const IMPORT = /(?:\bfrom|\bimport|\brequire\s*\()\s*["']([\w:/]+)["']/g;

/** Node's modules that a module imports. */
function modulesOf(text: string): ReadonlySet<string> {
  const names = Array.from(text.matchAll(IMPORT), ([, name = ""]) => name);
  return new Set(names.filter(isNodeBuiltin).map(bareName));
}

const EXPORT = /^(?:module\.)?exports\.(\w+)\s*=/gm;
const ESM = /^\s*(?:export|import)\b/m;

/** Whether a CommonJS module lacks a name that another one exports: its users would fail only at run time. */
function lacksExports(given: string, whole: string): boolean {
  if (ESM.test(given) || !/\bexports\b/.test(given)) return false;
  const words = new Set(given.match(/\w+/g));
  return Array.from(whole.matchAll(EXPORT), ([, name = ""]) => name).some((name) => !words.has(name));
}
