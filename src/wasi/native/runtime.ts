import path from "node:path";
import { GloveboxError } from "../../kernel/base/errors.ts";
import type { Bundle } from "../../kernel/tool/bundle/bundle.ts";
import { PackageError } from "../../kernel/tool/package/step.ts";
import type { RuntimeSource, ToolRuntime } from "../../kernel/tool/runtimes/runtime.ts";
import { readBinary } from "./binary.ts";

const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";
/** Advice for a package with a single file of another name, which is treated as a native binary. */
const NO_MODULE = "; a module would be code/function.ts, code/function.mjs, code/function.js or code/function.py";

/** Binaries, which run outside of isolates: their realm requests the host to start them. */
export const native: ToolRuntime = {
  name: "native",
  engine: new URL(`../guest/native-engine.${EXTENSION}`, import.meta.url),
  reader: { extensions: [], bundle: bundleBinary },
};

/** A binary is not a script: its realm requests it by its hash. */
async function bundleBinary(code: RuntimeSource): Promise<Bundle> {
  const { name } = code;
  switch (code.kind) {
    case "text":
      throw new GloveboxError("load_error", `tool "${name}" is native and needs a file; name it in entry`, {
        runtime: "native",
      });
    case "file":
      return readFile(code.path, name, path.basename(code.path), true, "");
    case "package":
      return readFile(path.join(code.folder, code.entry), name, code.entry, false, NO_MODULE);
    default:
      return code satisfies never;
  }
}

async function readFile(
  file: string,
  name: string,
  shown: string,
  isOperators: boolean,
  advice: string,
): Promise<Bundle> {
  try {
    const { hash, bytes: binary } = await readBinary(file, shown, isOperators);
    const bundle = { runtime: "native", text: hash, bytes: binary.length, sourceMap: "", sources: [shown], binary };
    return { ...bundle, isCommand: true, requests: { native: true } };
  } catch (error) {
    if (!(error instanceof GloveboxError || error instanceof PackageError)) throw error;
    const details = error.details;
    throw new GloveboxError("load_error", `tool "${name}" could not be loaded: ${error.message}${advice}`, details);
  }
}
