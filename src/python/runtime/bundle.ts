import path from "node:path";
import { errnoOf, isOfSystem } from "../../kernel/base/errno.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { isObject } from "../../kernel/base/json.ts";
import type { BuildOptions } from "../../kernel/tool/build/builds.ts";
import { stringsOf } from "../../kernel/tool/build/job.ts";
import type { JobWords } from "../../kernel/tool/build/problem.ts";
import type { Bundle } from "../../kernel/tool/bundle/bundle.ts";

import { runPackageJob } from "../../kernel/tool/package/package-job.ts";
import { PackageError } from "../../kernel/tool/package/step.ts";
import type { BundleContext, RuntimeSource } from "../../kernel/tool/runtimes/runtime.ts";
import { preparePython } from "./image.ts";
import type { PythonPackage } from "./package.ts";
import type { PythonScript } from "./python-file.ts";
import { scriptOfFile, scriptOfText, scriptText } from "./script.ts";

const WORDS: JobWords = { verb: "read", participle: "read", remedy: "require less" };

const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";
const WORK = new URL(`./package.${EXTENSION}`, import.meta.url).href;

/**
 * Bundles a text, a file, or a Python package by its `__init__.py` or `pyproject.toml`. A package includes the wheels
 * that it requires, a file those that it imports, if the operator has wheels: a build process reads them. Rejects with
 * a `GloveboxError`, `load_error`; for an unpacked package, with a `PackageError`.
 */
export async function bundlePython(code: RuntimeSource, { packages, lane }: BundleContext): Promise<Bundle> {
  const { name } = code;
  const { wheels, maxBytes } = packages;
  const own = wheels === undefined ? { maxBytes } : { maxBytes, wheels };
  switch (code.kind) {
    case "text":
      return orRefused(name, () => bundleScript(scriptOfText(code.text)));
    case "file": {
      if (wheels === undefined)
        return orRefused(name, async () => bundleScript((await scriptOfFile(code.path)).script));
      const { dir: folder, base: entry } = path.parse(path.resolve(code.path));
      return orRefused(name, () => bundleJob({ folder, entry, isFile: true, ...own }, lane));
    }
    case "package":
      return bundleJob({ folder: code.folder, entry: code.entry, ...own }, lane);
    default:
      return code satisfies never;
  }
}

async function bundleJob(data: PythonPackage, registrant: BuildOptions["registrant"]): Promise<Bundle> {
  const answer = await runPackageJob({ kind: "module", module: WORK, data, readsFiles: true }, WORDS, registrant);
  const [text] = answer.texts;
  const sources = isObject(answer.value) ? stringsOf(answer.value["sources"]) : null;
  if (text === undefined || sources === null) throw new PackageError("the build process answered with another form");
  return bundleOf(text, sources);
}

/** Prepares the interpreter only after the tool has been read successfully. */
async function bundleOf(text: string, sources: readonly string[]): Promise<Bundle> {
  await preparePython();
  return { runtime: "python", isInterpreted: true, text, bytes: Buffer.byteLength(text), sourceMap: "", sources };
}

function bundleScript(script: PythonScript): Promise<Bundle> {
  return bundleOf(scriptText(script), Object.keys(script.files));
}

/** The system's error messages contain paths of the host, so only their code is reported. */
async function orRefused(name: string, bundle: () => Promise<Bundle>): Promise<Bundle> {
  try {
    return await bundle();
  } catch (error) {
    if (!(error instanceof PackageError) && !isOfSystem(error)) throw error;
    const problem = error instanceof PackageError ? error.message : `its files cannot be read (${errnoOf(error)})`;
    throw new GloveboxError("load_error", `tool "${name}" could not be read: ${problem}`, { runtime: "python" });
  }
}
