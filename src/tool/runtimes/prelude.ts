import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import type { Prelude } from "../../base/protocol/prelude.ts";
import { pythonPlace } from "./python/place.ts";

const GLOBAL_NAME = "__prelude";
/** Parts that are evaluated only where a tool asks for them, by the names under which the prelude knows them. */
const DEFERRED = { console: "web/console", web: "web/index", fs: "faces/fs" };
/** Parts that few tools ask for, and that are long: not even their text is in an isolate before. */
const ABSENT = { fetch: "web/fetch-globals", streams: "web/stream-globals" };

let bundled: Promise<Prelude> | null = null;

/** What runs before the core in the realms of a runtime. */
const ENGINES = { wasi: "wasi/engine", native: "native/engine" };

/** The guest's prelude: the core is one script whose value is its `boot` function. Bundled once for each process. */
export function bundlePrelude(): Promise<Prelude> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<Prelude> {
  const texts = await bundleFiles({ core: "prelude", ...DEFERRED, ...ABSENT, ...ENGINES });
  const textOf = (name: string): string => texts.get(name) ?? "";
  const deferred = Object.keys(DEFERRED).map((name) => `${name}() {\n${textOf(name)}return ${GLOBAL_NAME};\n}`);
  const core = `const DEFERRED = {\n${deferred.join(",\n")}\n};\n${textOf("core")}return ${GLOBAL_NAME}.boot;`;
  const parts = Object.keys(ABSENT).map((name) => [name, script(`${textOf(name)}return ${GLOBAL_NAME};`)] as const);
  const engineOf = (name: keyof typeof ENGINES) => script(`${textOf(name)}return ${GLOBAL_NAME}.createEngine();`);
  const engines = { wasi: engineOf("wasi"), native: engineOf("native") };
  return { core: script(core), parts: Object.fromEntries(parts), engines, pythonImage: pythonPlace()?.image ?? null };
}

/** A script whose value is what the body returns. */
function script(body: string): string {
  return `(function () {\n"use strict";\n${body}\n})()`;
}

/** Modules of the guest by name, each with all it imports, as statements that declare `GLOBAL_NAME`. */
async function bundleFiles(files: { readonly [name: string]: string }): Promise<ReadonlyMap<string, string>> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const paths = Object.entries(files).map(([name, file]) => {
    return [name, fileURLToPath(new URL(`../../guest/${file}.${extension}`, import.meta.url))] as const;
  });
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: Object.fromEntries(paths),
    // Nothing is written there, but several bundles need names.
    outdir: "prelude",
    write: false,
    bundle: true,
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
  return new Map(result.outputFiles.map(({ path, text }) => [basename(path, ".js"), text]));
}
