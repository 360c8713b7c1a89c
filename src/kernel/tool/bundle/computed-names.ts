import { readdir } from "node:fs/promises";
import path from "node:path";
import type { Loader, Message } from "esbuild";
import { NODE_NAME } from "../../guest/host.ts";
import { isIn, packageFolder } from "./specifier.ts";

/** `require` and `import` of names that a module computes when it runs. */

/** A call whose argument begins with a text and continues with more. */
const MAY_SEARCH = /\b(?:require|import)\s*\(\s*(?:["'][^"'\n]*["']\s*\+|`[^`]*\$\{)/;
/** The same, or an `import` of a variable. */
const MAY_COMPUTE = new RegExp(String.raw`${MAY_SEARCH.source}|\bimport\s*\(\s*[\w$(]`);
/** Comments by which other bundlers leave an import as it is. */
const IGNORED = /\/\*\s*(?:webpackIgnore:\s*true|@vite-ignore)\s*\*\//g;

/**
 * A package's module without such calls, for which the bundler would search the host's folders for matching files. A
 * name in a folder of the package finds the modules there; any other is one of Node's, or fails when it is called.
 */
export async function withoutSearches(given: string, loader: Loader, file: string): Promise<string> {
  const contents = given.replaceAll(IGNORED, (note) => note.replaceAll(/[^\n]/g, " "));
  if (!MAY_COMPUTE.test(contents)) return given;
  const within = packageFolder(file);
  return replaceCalls(contents, await computedCalls(contents, loader, "{}"), async (id, behind) => {
    const found = id === REQUIRE ? await modulesFor(behind, id, file, REQUIRED, (at) => isIn(at, within)) : undefined;
    return found ?? LATE.get(id);
  });
}

/**
 * A module of the operator's project in which a computed name in a folder of the project finds the modules there. Other
 * such calls stay, and are refused. One that cannot be parsed is not changed.
 */
export async function withFolders(
  contents: string,
  loader: Loader,
  file: string,
  tsconfigRaw: string,
  encloses: (folder: string) => boolean,
): Promise<string> {
  if (!MAY_SEARCH.test(contents)) return contents;
  const calls = await computedCalls(contents, loader, tsconfigRaw).catch(() => []);
  return replaceCalls(contents, calls, (id, behind) => modulesFor(behind, id, file, MODULE, encloses));
}

async function computedCalls(contents: string, loader: Loader, tsconfigRaw: string): Promise<readonly Message[]> {
  const { transform } = await import("esbuild");
  const { warnings } = await transform(contents, {
    loader,
    format: "esm",
    logLevel: "silent",
    tsconfigRaw,
    logOverride: { [IMPORT]: "warning", [REQUIRE]: "warning" },
  });
  return warnings;
}

const MADE =
  /\b(?:const|let|var)\s+([\w$]+)(?:\s*:\s*[\w.$]+)?\s*=\s*(?:[\w$]+\.)?createRequire\s*\(\s*(import\s*\.\s*meta\s*\.\s*(?:url|filename)\b|__filename\b)?/g;
/** The definition of a `require` of the module's own, which hides the bundler's. */
const HIDES = /\b(const|let|var)(\s+)require(?=(?:\s*:\s*[\w.$]+)?\s*=\s*(?:[\w$]+\.)?createRequire\s*\()/g;

/**
 * A module whose own `require` is the bundler's where it is called with a plain name. Of a package, whatever place it
 * is made for; of a tool's own module, only one for its own place.
 */
export function withPlainRequires(contents: string, isOwn: boolean): string {
  if (!contents.includes("createRequire")) return contents;
  const made = [...contents.matchAll(MADE)].filter(([, , place]) => place !== undefined || !isOwn);
  return made.reduce((text, [, name = "", place]) => {
    if (name === "require") return place === undefined ? text : text.replace(HIDES, "$1$2require$made");
    const call = new RegExp(
      String.raw`(?<![\w$.])${name.replaceAll("$", String.raw`\$`)}(\(\s*(["'])[^"'\\\n]+\2\s*\))`,
      "g",
    );
    return text.replaceAll(call, "require$1");
  }, contents);
}

const REQUIRE = "unsupported-require-call";
const IMPORT = "unsupported-dynamic-import";
const LATE: ReadonlyMap<string, string> = new Map([
  [REQUIRE, "(0, require)"],
  [
    IMPORT,
    `(async (name) => { const found = ${NODE_NAME}.require("module").createRequire()(name); return { ...found, default: found }; })`,
  ],
]);
/** The arguments of a call with only a text, whose module the bundler finds. */
const PLAIN = /^\s*\(\s*(?:"[^"\\\n]*"|'[^'\\\n]*')\s*\)/;

/** Puts something else in the place of a call's function. Messages say where a call begins, in bytes of its line. */
async function replaceCalls(
  contents: string,
  messages: readonly Message[],
  replacing: (id: string, behind: string) => Promise<string | undefined>,
): Promise<string> {
  const lines = contents.split("\n");
  for (const { id, location } of messages.toReversed()) {
    if (!LATE.has(id) || location === null) continue;
    const bytes = Buffer.from(lines[location.line - 1] ?? "");
    const behind = bytes.toString("utf8", location.column + location.length);
    const call = PLAIN.test(behind) ? undefined : await replacing(id, behind);
    if (call === undefined) continue;
    lines[location.line - 1] = bytes.toString("utf8", 0, location.column) + call + behind;
  }
  return lines.join("\n");
}

/** A folder, then a name, then the end of the file's name. */
const IN_FOLDER =
  /^\s*\(\s*(?:`(\.{1,2}\/(?:[\w.@-]+\/)*)\$\{[^`{}]+\}([\w.-]*)`\s*\)|["'](\.{1,2}\/(?:[\w.@-]+\/)*)["']\s*\+\s*[\w.$]+\s*(?:\+\s*["']([\w.-]*)["']\s*)?\))/;
const MODULE = /\.(?:[cm]?[jt]s|[jt]sx|json)$/;
/** Modules that a package may require by a computed name. */
const REQUIRED = /\.(?:c?js|json)$/;
const NAME = /^[\w@-][\w.@-]*$/;
/** Types and tests, which stand beside modules. */
const NO_MODULE = /\.(?:d|test|spec)\.[cm]?[jt]sx?$/;
const MAX_MODULES = 500;

/**
 * A function for the modules that such a name may mean; `undefined` for any other name, a folder that may not be looked
 * into, or one with too many modules.
 */
async function modulesFor(
  call: string,
  id: string,
  file: string,
  isModule: RegExp,
  mayList: (folder: string) => boolean,
): Promise<string | undefined> {
  const [, template, templateEnd = "", text, textEnd = ""] = IN_FOLDER.exec(call) ?? [];
  const [folder, end] = [template ?? text, template === undefined ? textEnd : templateEnd];
  if (folder === undefined) return undefined;
  const place = path.resolve(path.dirname(file), folder);
  if (!mayList(place)) return undefined;
  const all = await readdir(place).catch(() => []);
  const files = all.filter((name) => isModule.test(name) && NAME.test(name) && !NO_MODULE.test(name)).sort();
  if (files.length > MAX_MODULES) return undefined;
  // A file's own name stands before those that others may have too, and code before data.
  const names = new Map(files.map((name) => [name, name]));
  for (const name of files) {
    for (const other of [name.replace(/\.([cm]?)tsx?$/, ".$1js"), name.replace(MODULE, "")])
      if (!names.has(other)) names.set(other, name);
  }
  const meant = [...names].filter(([name]) => name.endsWith(end));
  if (meant.length === 0) return undefined;
  const find = id === IMPORT ? "import" : "require";
  const members = meant.map(([name, found]) => `"${folder}${name}": () => ${find}("${folder}${found}")`);
  return `((name) => ({ ${members.join(", ")} })[name]?.() ?? ${LATE.get(id)}(name))`;
}
