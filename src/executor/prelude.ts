import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const GLOBAL_NAME = "__prelude";

let bundled: Promise<string> | null = null;

/** The guest's prelude as one script whose value is its `boot` function. Bundled once for each process. */
export function bundlePrelude(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<string> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const entry = fileURLToPath(new URL(`../guest/prelude.${extension}`, import.meta.url));
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "iife",
    globalName: GLOBAL_NAME,
    platform: "neutral",
    target: "esnext",
    legalComments: "none",
    logLevel: "silent",
    tsconfigRaw: "{}",
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error("the guest's prelude could not be bundled");
  return `(function () {\n"use strict";\n${output.text}\nreturn ${GLOBAL_NAME}.boot;\n})()`;
}
