import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const GLOBAL_NAME = "__prelude";
/** Parts that are evaluated only where a tool asks for them, by the names under which the prelude knows them. */
const DEFERRED = { console: "web/console", web: "web/index", fs: "faces/fs" };

let bundled: Promise<string> | null = null;

/** The guest's prelude as one script whose value is its `boot` function. Bundled once for each process. */
export function bundlePrelude(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<string> {
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
