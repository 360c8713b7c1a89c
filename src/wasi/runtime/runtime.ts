import path from "node:path";
import { loadError } from "../../kernel/base/errors.ts";
import { MODULE_BYTES_MAX, WasmError } from "../../kernel/base/wasm/wasm-sections.ts";
import type { Bundle } from "../../kernel/tool/bundle/bundle.ts";
import { readFileAt } from "../../kernel/tool/package/file.ts";
import { PackageError } from "../../kernel/tool/package/step.ts";
import type { RuntimeSource, ToolRuntime } from "../../kernel/tool/runtimes/runtime.ts";
import { checkWasiModule } from "./module.ts";

const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";

/** Commands of WASI preview 1. */
export const wasi: ToolRuntime = {
  name: "wasi",
  engine: new URL(`../guest/engine.${EXTENSION}`, import.meta.url),
  worker: new URL(`../worker.${EXTENSION}`, import.meta.url),
  reader: {
    extensions: [".wasm"],
    bundle: bundleWasm,
  },
};

/** Bundles a module of WebAssembly. Rejects with a `GloveboxError`: `load_error`. */
async function bundleWasm(code: RuntimeSource): Promise<Bundle> {
  switch (code.kind) {
    case "text":
      return bundleText(code.text, code.name);
    case "file":
      return bundleFile(code.path, code.name, true);
    case "package":
      return bundleFile(path.join(code.folder, code.entry), code.name, false);
    default:
      return code satisfies never;
  }
}

/** Bundles a module given as Base64. */
function bundleText(source: string, name: string): Bundle {
  const text = source.replaceAll(/\s/g, "");
  const bytes = Buffer.from(text, "base64");
  // `Buffer.from` silently skips characters that are not Base64.
  if (bytes.toString("base64") !== text) {
    throw loadError(name, "has a source that is not Base64; give the bytes of the module in Base64");
  }
  return bundle(bytes, name);
}

/** Bundles a module from a file. An operator's file may be a link. */
async function bundleFile(file: string, name: string, isOperators: boolean): Promise<Bundle> {
  const shown = path.basename(file);
  try {
    const bytes = await readFileAt(file, shown, MODULE_BYTES_MAX, isOperators);
    if (bytes === undefined) throw loadError(name, `has no file ${shown}; check its path`);
    return bundle(bytes, name);
  } catch (error) {
    if (error instanceof PackageError) throw loadError(name, `could not be loaded: ${error.message}`);
    throw error;
  }
}

/** The bytes stay unchanged: workers limit the module's memory. */
function bundle(bytes: Buffer, name: string): Bundle {
  try {
    checkWasiModule(bytes);
  } catch (error) {
    if (error instanceof WasmError) throw loadError(name, `could not be loaded: its module ${error.message}`);
    throw error;
  }
  const text = bytes.toString("base64");
  return { runtime: "wasi", isCommand: true, text, bytes: bytes.length, sourceMap: "", sources: [] };
}
