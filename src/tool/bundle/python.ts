import path from "node:path";
import { GloveboxError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { BuildOptions } from "../build/builds.ts";
import { type PythonJob, stringsOf } from "../build/job.ts";
import type { JobWords } from "../build/problem.ts";
import type { ResolvedPackageOptions } from "../package/options.ts";
import { runPackageJob } from "../package/package-job.ts";
import { PackageError } from "../package/step.ts";
import type { PythonScript } from "../../base/protocol/script.ts";
import { preparePython } from "../runtimes/python/image.ts";
import { scriptOfFile, scriptOfText, scriptText } from "../runtimes/python/script.ts";
import type { Bundle } from "./bundle.ts";

const WORDS: JobWords = { verb: "read", participle: "read", remedy: "require less" };

/** Bundles the text of a Python tool. Rejects with a `GloveboxError`: `load_error`. */
export function bundlePythonText(text: string, name: string): Promise<Bundle> {
  return told(name, async () => scriptOfText(text));
}

/**
 * Bundles a Python file, or a Python package by its `__init__.py`. Where the operator has wheels, those that it imports
 * come with it: a build process reads them. Rejects with a `GloveboxError`: `load_error`.
 */
export function bundlePythonFile(
  file: string,
  name: string,
  { wheels, maxBytes }: ResolvedPackageOptions,
  registrant: BuildOptions["registrant"],
): Promise<Bundle> {
  if (wheels === undefined) return told(name, async () => (await scriptOfFile(file)).script);
  const { dir: folder, base: entry } = path.parse(path.resolve(file));
  const job = { kind: "python", folder, entry, isFile: true, wheels, maxBytes } as const;
  return orRefused(name, () => bundleJob(job, registrant));
}

/** Bundles a Python tool package with its required wheels, in a build process. Rejects with a `PackageError`. */
export async function bundlePythonPackage(
  folder: string,
  entry: string,
  { wheels, maxBytes }: ResolvedPackageOptions,
  registrant: BuildOptions["registrant"],
): Promise<Bundle> {
  const job = { kind: "python", folder, entry, maxBytes } as const;
  return bundleJob(wheels === undefined ? job : { ...job, wheels }, registrant);
}

async function bundleJob(job: PythonJob, registrant: BuildOptions["registrant"]): Promise<Bundle> {
  const answer = await runPackageJob(job, WORDS, registrant);
  const [text] = answer.texts;
  const sources = isObject(answer.value) ? stringsOf(answer.value["sources"]) : null;
  if (text === undefined || sources === null) throw new PackageError("the build process answered with another form");
  return bundleOf(text, sources);
}

/** Prepares the interpreter only after the tool has been read successfully. */
async function bundleOf(text: string, sources: readonly string[]): Promise<Bundle> {
  await preparePython();
  return { runtime: "python", text, bytes: Buffer.byteLength(text), sourceMap: "", sources };
}

function told(name: string, read: () => Promise<PythonScript>): Promise<Bundle> {
  return orRefused(name, async () => {
    const script = await read();
    return bundleOf(scriptText(script), Object.keys(script.files));
  });
}

/** The system's error messages contain paths of the host, so only their code is reported. */
async function orRefused(name: string, bundle: () => Promise<Bundle>): Promise<Bundle> {
  try {
    return await bundle();
  } catch (error) {
    const isSystems = error instanceof Error && "syscall" in error && "code" in error;
    if (!(error instanceof PackageError) && !isSystems) throw error;
    const problem = isSystems ? `its files cannot be read (${String(error.code)})` : error.message;
    throw new GloveboxError("load_error", `tool "${name}" could not be read: ${problem}`, { runtime: "python" });
  }
}
