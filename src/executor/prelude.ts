import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import type { Prelude } from "../protocol/prelude.ts";

const GLOBAL_NAME = "__prelude";
/** Parts that are evaluated only where a tool asks for them, by the names under which the prelude knows them. */
const DEFERRED = { console: "web/console", web: "web/index", fs: "faces/fs" };
/** Parts that few tools ask for, and that are long: not even their text is in an isolate before. */
const FETCHED = { fetch: "web/fetch-globals", streams: "web/stream-globals" };

let bundled: Promise<Prelude> | null = null;

/** The guest's prelude: the core is one script whose value is its `boot` function. Bundled once for each process. */
export function bundlePrelude(): Promise<Prelude> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<Prelude> {
  const parts = Object.entries(FETCHED).map(async ([name, file]) => {
    return [name, `(function () {\n"use strict";\n${await bundleFile(file)}return ${GLOBAL_NAME};\n})()`] as const;
  });
  return { core: await bundleCore(), parts: Object.fromEntries(await Promise.all(parts)) };
}

async function bundleCore(): Promise<string> {
  const parts = Object.entries(DEFERRED).map(async ([name, file]) => {
    return `${name}() {\n${await bundleFile(file)}return ${GLOBAL_NAME};\n}`;
  });
  const deferred = `const DEFERRED = {\n${(await Promise.all(parts)).join(",\n")}\n};`;
  const core = await bundleFile("prelude");
  return `(function () {\n"use strict";\n${deferred}\n${core}return ${GLOBAL_NAME}.boot;\n})()`;
}

/** A module of the guest with all it imports, as statements that declare `GLOBAL_NAME`. */
async function bundleFile(name: string): Promise<string> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const result = await build({
    entryPoints: [fileURLToPath(new URL(`../guest/${name}.${extension}`, import.meta.url))],
    bundle: true,
    write: false,
    format: "iife",
    globalName: GLOBAL_NAME,
    platform: "neutral",
    target: "esnext",
    // What the streams find of these is the call's that first uses them, or cannot transfer a buffer.
    define: { queueMicrotask: "undefined", structuredClone: "undefined" },
    // Each isolate holds the text.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "silent",
    tsconfigRaw: "{}",
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error("the guest's prelude could not be bundled");
  return output.text;
}
