import path from "node:path";

/** Files that a module names by literals, from its own folder: the ways in which Node's documentation and people do it. */

/** Words of which a module has one if it names files from its own folder. */
export const MAY_NAME_FILES = /\b(?:import\s*\.\s*meta|__dirname|__filename)\b/;

/**
 * Paths of the files, relative to the module's folder. They are guesses from the text, including comments: the caller
 * checks whether a file exists.
 */
export function namedFiles(contents: string): readonly string[] {
  const urls = [...contents.matchAll(URLS), ...contents.matchAll(RESOLVED)];
  const found = new Set(urls.map(([, , url = ""]) => decoded(url)));
  // A folder is known before it is used, so one reading finds them all.
  const folders = new Map([["__dirname", "."]]);
  for (const [, name = ""] of contents.matchAll(OWN_FOLDER)) folders.set(name, ".");
  for (const match of contents.matchAll(JOINED)) {
    const { made, base = "", names = "" } = match.groups ?? {};
    const folder = IS_OWN_FOLDER.test(base) ? "." : folders.get(base);
    if (folder === undefined) continue;
    const joined = path.posix.join(folder, ...Array.from(names.matchAll(TEXT), ([, , one = ""]) => one));
    if (made !== undefined) folders.set(made, joined);
    found.add(joined);
  }
  for (const match of contents.matchAll(ADDED)) {
    const { base = "", added, inner, innerBase = "" } = match.groups ?? {};
    const folder = folders.get(inner === undefined ? base : innerBase);
    if (folder !== undefined) found.add(path.posix.join(folder, inner ?? added ?? ""));
  }
  return [...found].slice(0, FILES_MAX);
}

const FILES_MAX = 1_000;
const NAME = String.raw`[A-Za-z_$][\w$]{0,99}`;
const LITERAL = String.raw`(?:"[^"\\\n]{1,500}"|'[^'\\\n]{1,500}'|\x60[^\x60\\\n$]{1,500}\x60)`;
const TEXT = /(["'`])(?<text>(?:(?!\1)[^\\\n])+)\1/g;
/** `path.`, or `require("path").` */
const FROM = String.raw`(?:(?:[\w$]{1,99}|require\s*\(\s*["'][\w:/]{1,40}["']\s*\))\.)?`;
const META = String.raw`import\s*\.\s*meta\s*\.\s*`;
/** The module's own folder, as an expression that is no name. */
const OWN = [
  String.raw`${META}dirname`,
  String.raw`${FROM}dirname\s*\(\s*(?:__filename|${FROM}fileURLToPath\s*\(\s*${META}url\s*\))\s*\)`,
  String.raw`${FROM}fileURLToPath\s*\(\s*new\s+URL\s*\(\s*["'\x60]\.\/?["'\x60]\s*,\s*${META}url\s*\)\s*\)`,
].join("|");
const IS_OWN_FOLDER = new RegExp(String.raw`^(?:${OWN})$`);
/** `const here = dirname(fileURLToPath(import.meta.url))` */
const OWN_FOLDER = new RegExp(String.raw`\b(?:const|let|var)\s+(${NAME})(?:\s*:\s*string)?\s*=\s*(?:${OWN})`, "g");
/** `new URL("./name", import.meta.url)` */
const URLS = new RegExp(String.raw`\bnew\s+URL\s*\(\s*(["'\x60])([^"'\x60\\$\n]{1,500})\1\s*,\s*${META}url\b`, "g");
/** `import.meta.resolve("./name")` */
const RESOLVED = new RegExp(String.raw`\b${META}resolve\s*\(\s*(["'\x60])([^"'\x60\\$\n]{1,500})\1`, "g");
/** `join(here, "data", "name")`, and the variable that is this path from then on */
const JOINED = new RegExp(
  String.raw`(?:\b(?:const|let|var)\s+(?<made>${NAME})(?:\s*:\s*string)?\s*=\s*)?(?<![\w$])${FROM}(?:join|resolve)\s*\(\s*` +
    String.raw`(?<base>${OWN}|${NAME})(?<names>(?:\s*,\s*${LITERAL}){1,9})\s*,?\s*\)`,
  "g",
);
/** `here + "/name"`, and the same as a template */
const ADDED = new RegExp(
  String.raw`(?<![\w$.])(?<base>${NAME})\s*\+\s*["'\x60](?<added>\/[^"'\x60\\$\n]{1,500})["'\x60]` +
    String.raw`|\x60\$\{\s*(?<innerBase>${NAME})\s*\}(?<inner>\/[^\x60\\$\n]{1,500})\x60`,
  "g",
);

/** The path of a relative URL; one with a scheme is unchanged, and names no file. */
function decoded(url: string): string {
  try {
    return decodeURIComponent(url.replace(/[?#].*$/s, ""));
  } catch {
    return url;
  }
}
