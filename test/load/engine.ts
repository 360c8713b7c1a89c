import { pathToFileURL } from "node:url";

type Module = typeof import("../../src/glovebox/index.ts");

/**
 * The engine from its source, or as it was built: an executor of the latter starts in half the time, because nothing
 * has to be taken out of its text first.
 */
export function openModule(file: string): Promise<Module> {
  return import(pathToFileURL(file).href) as Promise<Module>;
}
