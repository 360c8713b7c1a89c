/**
 * Loads what is built in the place of the sources: what is published for the command, and for all else what is compiled,
 * with the programs of other threads and processes as they are published. Node compiles TypeScript anew in each process,
 * and in each of its threads: that is half of what most programs of tests do. `test/vitest.config.ts` gives this file to
 * every process of a run, and `test/build.ts` builds first.
 */
import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";

const SRC = new URL("../src/", import.meta.url).href;
const BUILT = new URL("../built/", import.meta.url).href;
/** Its sources are what is published: the server bundles them. */
const PAGE = `${SRC}server/console/page/`;
/** It is a process of its own, which loads a few chunks in the place of hundreds of modules. */
const COMMAND = `${SRC}cli/main.ts`;
const PUBLISHED = new URL("../dist/cli/main.js", import.meta.url).href;

/** Chunks of programs, and the modules that programs import, in their form for programs. None before the first build. */
const CHUNKS = `${BUILT}chunks/`;
const LIST = new URL("imported.json", BUILT);
const IMPORTED = new Set(existsSync(LIST) ? JSON.parse(readFileSync(LIST, "utf8")).map((file) => BUILT + file) : []);

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const [url, ...query] = resolved.url.split(/(?=\?)/);
    const built = builtOf(url);
    const isOfProgram = context.parentURL?.startsWith(CHUNKS) === true;
    const loaded = IMPORTED.has(built) && !isOfProgram ? built.replace(/js$/, "module.js") : built;
    return loaded === url ? resolved : { ...resolved, url: [loaded, ...query].join(""), format: "module" };
  },
});

/** Where what is built of a source is; any other file itself. */
function builtOf(url) {
  if (!url.startsWith(SRC) || !url.endsWith(".ts") || url.startsWith(PAGE)) return url;
  return url === COMMAND ? PUBLISHED : `${BUILT}${url.slice(SRC.length, -".ts".length)}.js`;
}
