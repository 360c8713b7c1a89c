import { GloveboxError } from "../../base/errors.ts";
import { PackageError } from "../package/step.ts";
import type { PythonScript } from "../../base/protocol/script.ts";
import { preparePython } from "../runtimes/python/image.ts";
import { install } from "../runtimes/python/installation.ts";
import { SCRIPT_BYTES_MAX } from "../runtimes/python/python-file.ts";
import { readRequirements } from "../runtimes/python/requirements.ts";
import { scriptOfFile, scriptOfPackage, scriptOfText } from "../runtimes/python/script.ts";
import type { Wheels } from "../runtimes/python/wheels.ts";
import type { Bundle } from "./bundle.ts";

/** Bundles the text of a Python tool. Rejects with a `GloveboxError`: `load_error`. */
export function bundlePythonText(text: string, name: string): Promise<Bundle> {
  return told(name, async () => scriptOfText(text));
}

/** Bundles a Python file, or a Python package by its `__init__.py`. Rejects with a `GloveboxError`: `load_error`. */
export function bundlePythonFile(file: string, name: string): Promise<Bundle> {
  return told(name, () => scriptOfFile(file));
}

/** Bundles a Python tool package with its required wheels. Rejects with a `PackageError`. */
export async function bundlePythonPackage(folder: string, entry: string, wheels: Wheels): Promise<Bundle> {
  const packages = await install(await readRequirements(folder), wheels);
  return bundleOf(await scriptOfPackage(folder, entry, packages));
}

/** Prepares the interpreter only after the tool has been read successfully. */
async function bundleOf(script: PythonScript): Promise<Bundle> {
  const text = JSON.stringify(script);
  const bytes = Buffer.byteLength(text);
  if (bytes > SCRIPT_BYTES_MAX) {
    throw new PackageError(`it is ${bytes} bytes with all that it needs, more than ${SCRIPT_BYTES_MAX}`);
  }
  await preparePython();
  return { runtime: "python", text, bytes, sourceMap: "", sources: Object.keys(script.files) };
}

/** The system's error messages contain paths of the host, so only their code is reported. */
async function told(name: string, read: () => Promise<PythonScript>): Promise<Bundle> {
  try {
    return await bundleOf(await read());
  } catch (error) {
    const isSystems = error instanceof Error && "syscall" in error && "code" in error;
    if (!(error instanceof PackageError) && !isSystems) throw error;
    const problem = isSystems ? `its files cannot be read (${String(error.code)})` : error.message;
    throw new GloveboxError("load_error", `tool "${name}" could not be read: ${problem}`, { runtime: "python" });
  }
}
