import type { Loader, Message } from "esbuild";

/** The language level of bundles: what the isolates' V8 knows anyway is left as it is. */
export const TARGET = "es2024";

/** `import(` with nothing between but space, `import.defer(`, or a comment that may hide the parenthesis. */
const MAY_IMPORT = /import\s*[(./]|require|\\u/;
const CALL = /(?:import|import\.\w+|require)\(\s*(["'`/])/g;
const LITERAL = /(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)\s*[),]/y;

/**
 * What a module must say to import anything, to export something `from` another, or to name what bundling replaces.
 * None of these words can be spelled in another way, but for escapes; a `from` that counts has a string behind it, or a
 * comment before the string.
 */
const NOT_ALONE = /\b(?:import|require|global|process|stackTraceLimit)\b|\bfrom\s*["'`/<-]|\\u/;

/** Whether a module certainly needs no other. It is `false` also where a word of a comment or a string is all there is. */
export function isAlone(contents: string): boolean {
  return !NOT_ALONE.test(contents);
}

/**
 * What is wrong with a module's `import()` and `require()` calls; `[]` where nothing is.
 *
 * When esbuild bundles a call whose argument begins with a string, such as `import("../../" + name)`, it looks for every
 * file that it could mean: by itself, without asking plugins, in any folder of the host. So such a module must not get
 * as far as that. Here it is parsed without bundling, which reads nothing, and printed with its constants folded: an
 * argument that begins with a string is printed as one.
 *
 * In the tool's own modules (`isOwn`) no import may depend on what is known only later; packages do such things in
 * branches that are never taken.
 */
export async function checkImports(
  contents: string,
  loader: Loader,
  sourcefile: string,
  isOwn: boolean,
): Promise<readonly Message[]> {
  if (!MAY_IMPORT.test(contents)) return [];
  const { transform } = await import("esbuild");
  const { code, warnings } = await transform(contents, {
    loader,
    sourcefile,
    format: "esm",
    target: TARGET,
    charset: "utf8",
    tsconfigRaw: "{}",
    logLevel: "silent",
    logOverride: { "unsupported-dynamic-import": "warning", "unsupported-require-call": "warning" },
  });
  const calls = warnings.filter(({ id }) => id === "unsupported-dynamic-import" || id === "unsupported-require-call");
  if (searchesFiles(code)) return calls.slice(0, 1).map((call) => ({ ...call, id: "unsupported-dynamic-import" }));
  return isOwn ? calls.filter(({ id }) => id === "unsupported-dynamic-import") : [];
}

function searchesFiles(code: string): boolean {
  for (const call of code.matchAll(CALL)) {
    LITERAL.lastIndex = call.index + call[0].length - 1;
    if (!LITERAL.test(code)) return true;
  }
  return false;
}

/** esbuild reads source maps that a comment names by a `file:` URL, wherever they are; of any other it reads none. */
export function withoutFileMaps(contents: string): string {
  return contents.replaceAll(/(sourceMappingURL=)file(?=:)/gi, "$1none");
}
