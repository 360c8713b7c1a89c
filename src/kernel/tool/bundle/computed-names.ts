import { readdir } from "node:fs/promises";
import path from "node:path";
import type { Loader, Message } from "esbuild";
import { isIn, packageFolder } from "./specifier.ts";

/** `require` and `import` of names that a package computes when it runs. */

/** A call whose argument begins with a text and is more than that. */
const MAY_SEARCH = /\b(?:require|import)\s*\(\s*(?:["'][^"'\n]*["']\s*\+|`[^`]*\$\{)/;

/**
 * A package's module in which such calls are not the bundler's, which would search the host's folders for files that
 * match. A name in a folder of the package finds the modules there; any other fails when it is called.
 */
export async function withoutSearches(contents: string, loader: Loader, file: string): Promise<string> {
  if (!MAY_SEARCH.test(contents)) return contents;
  const { transform } = await import("esbuild");
  const { warnings } = await transform(contents, {
    loader,
    format: "esm",
    logLevel: "silent",
    tsconfigRaw: "{}",
    logOverride: { "unsupported-dynamic-import": "warning", "unsupported-require-call": "warning" },
  });
  return replaceCalls(contents, warnings, file);
}

const MADE = /\b(?:const|let|var)\s+([\w$]+)\s*=\s*(?:[\w$]+\.)?createRequire\s*\(/g;

/** A package's module whose own `require` is the bundler's where it is called with a plain name. */
export function withPlainRequires(contents: string): string {
  if (!contents.includes("createRequire")) return contents;
  const names = Array.from(contents.matchAll(MADE), ([, name = ""]) => name).filter((name) => name !== "require");
  return names.reduce((text, name) => {
    const call = new RegExp(
      String.raw`(?<![\w$.])${name.replaceAll("$", String.raw`\$`)}(\(\s*(["'])[^"'\\\n]+\2\s*\))`,
      "g",
    );
    return text.replaceAll(call, "require$1");
  }, contents);
}

const REQUIRE = "(0, require)";
const LATE: ReadonlyMap<string, string> = new Map([
  ["unsupported-require-call", REQUIRE],
  ["unsupported-dynamic-import", "(async (name) => { throw new Error(`Cannot find module '${name}'`); })"],
]);
/** The arguments of a call with nothing but a text, whose module the bundler finds. */
const PLAIN = /^\s*\(\s*(?:"[^"\\\n]*"|'[^'\\\n]*')\s*\)/;

/** Messages say where a call begins, in bytes of its line. */
async function replaceCalls(contents: string, messages: readonly Message[], file: string): Promise<string> {
  const lines = contents.split("\n");
  for (const { id, location } of messages.toReversed()) {
    const late = LATE.get(id);
    if (late === undefined || location === null) continue;
    const bytes = Buffer.from(lines[location.line - 1] ?? "");
    const behind = bytes.toString("utf8", location.column + location.length);
    if (PLAIN.test(behind)) continue;
    const found = late === REQUIRE ? await modulesFor(behind, file) : [];
    const call = found.length === 0 ? late : `((name) => ({ ${found.join(", ")} })[name]?.() ?? ${REQUIRE}(name))`;
    lines[location.line - 1] = bytes.toString("utf8", 0, location.column) + call + behind;
  }
  return lines.join("\n");
}

/** A folder of the package, then a name, then the end of the file's name. */
const IN_FOLDER =
  /^\s*\(\s*(?:`(\.{1,2}\/(?:[\w.@-]+\/)*)\$\{[^`{}]+\}([\w.-]*)`\s*\)|["'](\.{1,2}\/(?:[\w.@-]+\/)*)["']\s*\+\s*[\w.$]+\s*(?:\+\s*["']([\w.-]*)["']\s*)?\))/;
const MODULE = /\.(?:c?js|json)$/;
const MAX_MODULES = 500;

/** Members of an object that require what such a name may mean; `[]` for any other name, or if there are too many. */
async function modulesFor(call: string, file: string): Promise<readonly string[]> {
  const [, template, templateEnd = "", text, textEnd = ""] = IN_FOLDER.exec(call) ?? [];
  const [folder, end] = [template ?? text, template === undefined ? textEnd : templateEnd];
  if (folder === undefined) return [];
  const place = path.resolve(path.dirname(file), folder);
  if (!isIn(place, packageFolder(file))) return [];
  const names = await readdir(place).catch(() => []);
  const modules = names.filter((name) => MODULE.test(name) && /^[\w.@-]+$/.test(name) && isMeant(name, end));
  if (modules.length > MAX_MODULES) return [];
  return modules.map((name) => {
    const key = end === "" || name.endsWith(end) ? name : name.replace(MODULE, "");
    return `"${folder}${key}": () => require("${folder}${name}")`;
  });
}

/** Whether a file's name, or what is left of it without its extension, ends so. */
function isMeant(name: string, end: string): boolean {
  return name.endsWith(end) || name.replace(MODULE, "").endsWith(end);
}
