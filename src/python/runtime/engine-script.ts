import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { leanPyodide } from "./lean-pyodide.ts";

const ENGINE_NAME = "__engine";
const PYODIDE_NAME = "__pyodide";
/** The code in Pyodide that fills its memory from a snapshot. */
const RESTORING = /Module\.HEAP8\.set\((\w+)\),/g;

/**
 * The script that runs first in Python's realms; it evaluates to a `PythonEngine`. Rejects if this version of Pyodide
 * is not supported.
 */
export async function bundleEngine(pyodide: string): Promise<string> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const engine = fileURLToPath(new URL(`../guest/engine.${extension}`, import.meta.url));
  const facade = fileURLToPath(new URL(`../guest/facade.${extension}`, import.meta.url));
  const [engineText, pyodideText] = await Promise.all([
    bundle(ENGINE_NAME, path.dirname(engine), [
      `export { createEngine } from ${JSON.stringify(engine)};`,
      `export { FACADE_NAMES } from ${JSON.stringify(facade)};`,
    ]),
    bundle(PYODIDE_NAME, pyodide, [
      `export { loadPyodide } from ${JSON.stringify(path.join(pyodide, "pyodide.mjs"))};`,
      `export { default as createPyodideModule } from ${JSON.stringify(path.join(pyodide, "pyodide.asm.mjs"))};`,
    ]),
  ]);
  // Parameters cannot be computed at run time, so the names in `FACADE_NAMES` are read from the engine's text.
  const names = /FACADE_NAMES\s*=\s*\[([^\]]*)\]/.exec(engineText)?.[1] ?? "";
  const parameters = ["globalThis", "self", ...names.matchAll(/"(\w+)"/g).map(([, name = ""]) => name)].join(", ");
  return `(function () {
${engineText}
return ${ENGINE_NAME}.createEngine(function (facade) {
  return (function (${parameters}) {
${pyodideText}
return ${PYODIDE_NAME};
  })(facade.global, facade.global, ...facade.names);
});
})()`;
}

async function bundle(globalName: string, resolveDir: string, lines: readonly string[]): Promise<string> {
  const { build } = await import("esbuild");
  const result = await build({
    stdin: { contents: lines.join("\n"), resolveDir },
    write: false,
    bundle: true,
    format: "iife",
    globalName,
    platform: "neutral",
    target: "esnext",
    external: ["node:*", "ws"],
    define: { "import.meta.url": '"file:///pyodide.asm.mjs"' },
    plugins: [restoring],
    minifyWhitespace: true,
    legalComments: "none",
    logLevel: "silent",
    tsconfigRaw: "{}",
  });
  return result.outputFiles[0]?.text ?? "";
}

/**
 * Makes Pyodide leave the filling of its memory to the engine, which skips empty pages, so that they take no memory.
 */
const restoring: Plugin = {
  name: "restoring",
  setup(build) {
    build.onLoad({ filter: /pyodide\.asm\.mjs$/ }, async ({ path: file }) => {
      const [glue, loader] = await Promise.all(
        [file, path.join(path.dirname(file), "pyodide.mjs")].map((each) => readFile(each, "utf8")),
      );
      const { code: text } = leanPyodide(glue ?? "", loader ?? "");
      const found = [...text.matchAll(RESTORING)];
      if (found.length !== 1) throw new Error("this version of Pyodide restores its memory in another way");
      const contents = text.replace(RESTORING, (_all, bytes: string) => {
        return `(globalThis.__restore?globalThis.__restore(Module.HEAP8):Module.HEAP8.set(${bytes})),`;
      });
      return { contents, loader: "js" };
    });
  },
};
