import { loadError } from "../../base/errors.ts";
import { shownName } from "./module-name.ts";

/** How esbuild prints a module that is evaluated when it is first used, and awaits at its top level. */
const AWAITING = /\bvar ([\w$]+) = __esm\(\{\n\s*async "([^"\n]*)"/g;

/**
 * Refuses a bundle in which a module is required that awaits at its top level: the caller of `require` would get exports
 * without values. Node refuses that with `ERR_REQUIRE_ASYNC_MODULE`.
 */
export function checkRequires(tool: string, text: string): void {
  for (const [, start, module = ""] of text.matchAll(AWAITING)) {
    if (text.includes(`(${start}(), __toCommonJS(`))
      throw loadError(tool, `requires ${shownName(module)}, which awaits outside of any function: import it`);
  }
}
