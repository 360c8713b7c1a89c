import path from "node:path";
import { GloveboxError } from "../../base/errors.ts";
import { readFileAt } from "../package/file.ts";
import { PackageError } from "../package/step.ts";
import { checkWasiModule } from "../runtimes/wasi/module.ts";
import { MODULE_BYTES_MAX, WasmError } from "../../base/wasm/wasm-sections.ts";
import type { Bundle } from "./bundle.ts";

/** Bundles a module given as Base64. Throws a `GloveboxError`: `load_error`. */
export function bundleWasmText(source: string, name: string): Bundle {
  const text = source.replaceAll(/\s/g, "");
  const bytes = Buffer.from(text, "base64");
  // `Buffer.from` silently skips characters that are not Base64.
  if (bytes.toString("base64") !== text) {
    throw loadError(name, "has a source that is not Base64; give the bytes of the module in Base64");
  }
  return bundle(bytes, name);
}

/** Bundles a module from a file. An operator's file may be a link. Rejects with a `GloveboxError`: `load_error`. */
export async function bundleWasmFile(file: string, name: string, isOperators: boolean): Promise<Bundle> {
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
  return { runtime: "wasi", text: bytes.toString("base64"), bytes: bytes.length, sourceMap: "", sources: [] };
}

function loadError(tool: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `tool "${tool}" ${problem}`);
}
