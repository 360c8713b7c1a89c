import type { Loader, Message } from "esbuild";
import { MAY_USE_NODE } from "./node-names.ts";

/** The language level of bundles: syntax that the isolates' V8 supports is left unchanged. */
export const TARGET = "es2024";

/** `import(` with only space in between, `import.defer(`, or a comment that may hide the parenthesis. */
const MAY_IMPORT = /import\s*[(./]|require|\\u/;
/** A call, which no quotation mark can be right before: that is in a string, as in the texts of compilers. */
const CALL = /(?<!["'])(?:import|import\.\w+|require)\(\s*(["'`/])/g;
const LITERAL = /(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)\s*[),]/y;

/**
 * Tokens without which a module can neither import anything, export something `from` another module, nor use a name
 * that bundling replaces. None of these words has another spelling except with escapes; after a relevant `from` comes a
 * string, or a comment and then the string.
 */
const NOT_ALONE = /\b(?:import|require|global|stackTraceLimit)\b|\bfrom\s*["'`/<-]|\\u/;

/** Whether a module certainly imports nothing. Also `false` if such a word occurs only in a comment or a string. */
export function isAlone(contents: string): boolean {
  return !NOT_ALONE.test(contents) && !MAY_USE_NODE.test(contents);
}

/**
 * The problems of a module's `import()` and `require()` calls, or `[]`.
 *
 * When esbuild bundles a call whose argument begins with a string, such as `import("../../../" + name)`, it searches
 * for every matching file itself, without plugins, in any folder of the host. Such a module must not reach that step.
 * Here it is parsed without bundling, which reads no files, and printed with its constants folded: an argument that
 * begins with a string is printed as one.
 *
 * In the tool's own modules (`isOwn`) no import may have a dynamic specifier; packages have such imports in branches
 * that never run.
 */
export async function checkImports(
  contents: string,
  loader: Loader,
  sourcefile: string,
  isOwn: boolean,
  tsconfigRaw = "{}",
): Promise<readonly Message[]> {
  if (!MAY_IMPORT.test(contents)) return [];
  const { transform } = await import("esbuild");
  const { code, warnings } = await transform(contents, {
    loader,
    sourcefile,
    format: "esm",
    target: TARGET,
    charset: "utf8",
    // Any comments are removed.
    minifyWhitespace: true,
    tsconfigRaw,
    logLevel: "silent",
    logOverride: { "unsupported-dynamic-import": "warning", "unsupported-require-call": "warning" },
  });
  const calls = warnings.filter(({ id }) => id === "unsupported-dynamic-import" || id === "unsupported-require-call");
  if (searchesFiles(code)) return calls.slice(0, 1).map((call) => ({ ...call, id: "unsupported-dynamic-import" }));
  return isOwn ? calls.filter(({ id }) => id === "unsupported-dynamic-import") : [];
}

/** Comments for other bundlers, which the printed call keeps. */
const NOTES = /\(\s*(?:\/\*(?:[^*]|\*(?!\/))*\*\/\s*)+/g;

function searchesFiles(printed: string): boolean {
  const code = printed.replaceAll(NOTES, "(");
  for (const call of code.matchAll(CALL)) {
    LITERAL.lastIndex = call.index + call[0].length - 1;
    if (!LITERAL.test(code)) return true;
  }
  return false;
}

/**
 * esbuild reads source maps that a comment names by a `file:` URL, anywhere on the host; other URLs it does not read.
 */
export function withoutFileMaps(contents: string): string {
  return contents.replaceAll(/(sourceMappingURL=)file(?=:)/gi, "$1none");
}
