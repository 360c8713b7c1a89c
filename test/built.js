/**
 * Loads what is built in the place of the sources: what is published for the command, and for all else what is compiled,
 * with the programs of other threads and processes as they are published. Node compiles TypeScript anew in each process,
 * and in each of its threads: that is half of what most programs of tests do. `test/vitest.config.ts` gives this file to
 * every process of a run, and `test/build.ts` builds first.
 */
import { registerHooks } from "node:module";

const SRC = new URL("../src/", import.meta.url).href;
const BUILT = new URL("../built/", import.meta.url).href;
/** Its sources are what is published: the server bundles them. */
const PAGE = `${SRC}server/console/page/`;
/** It is a process of its own, which loads a few chunks in the place of hundreds of modules. */
const COMMAND = `${SRC}cli/main.ts`;
const PUBLISHED = new URL("../dist/cli/main.js", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const [url, ...query] = resolved.url.split(/(?=\?)/);
    if (!url.startsWith(SRC) || !url.endsWith(".ts") || url.startsWith(PAGE)) return resolved;
    const built = url === COMMAND ? PUBLISHED : `${BUILT}${url.slice(SRC.length, -".ts".length)}.js`;
    return { ...resolved, url: [built, ...query].join(""), format: "module" };
  },
});
