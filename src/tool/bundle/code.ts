import { realpath } from "node:fs/promises";
import path from "node:path";
import { GloveboxError } from "../../base/errors.ts";
import { type Dependencies, readDependencies } from "../package/dependencies.ts";
import { PackageError } from "../package/step.ts";
import type { PackageLayout } from "../package/layout.ts";
import type { ResolvedPackageOptions } from "../package/options.ts";
import type { DefinedRuntime } from "../../base/protocol/script.ts";
import { readBinary } from "../runtimes/native/binary.ts";
import { type Bundle, bundleModule } from "./bundle.ts";
import type { PackageScope } from "./files.ts";
import type { ProjectOptions } from "./project.ts";
import { bundleWasmFile, bundleWasmText } from "./wasm.ts";
import type { CheckedDefinition } from "../definition.ts";

/** Selects the bundler for a tool's runtime. Nothing of a tool runs. */

/** On whose behalf code is bundled, and with what. */
export interface BundleContext {
  /** See `BuildOptions.registrant`. */
  readonly lane: string | null;
  readonly packages: ResolvedPackageOptions;
  /** Of the operator's files: what decides which project is theirs. */
  readonly project?: ProjectOptions;
}

/** Bundles a definition's text or file. Rejects with a `GloveboxError`: `load_error`. */
export async function bundleDefinition(
  { name, source, entry = "", runtime }: CheckedDefinition,
  context: BundleContext,
): Promise<Bundle> {
  const { lane } = context;
  if (source === undefined) return bundleFile(entry, name, context, runtime);
  switch (runtime) {
    case undefined:
    case "javascript":
      return bundleModule({ kind: "text", text: source, name }, lane);
    case "python":
      return (await import("./python.ts")).bundlePythonText(source, name);
    case "wasi":
      return bundleWasmText(source, name);
    case "native":
      throw new GloveboxError("load_error", `tool "${name}" is native and needs a file; name it in entry`, {
        runtime,
      });
    default:
      return runtime satisfies never;
  }
}

/** Bundles a file that is a tool by itself. */
export async function bundleFile(
  file: string,
  name: string,
  { lane, packages, project }: BundleContext,
  runtime: DefinedRuntime = runtimeOf(file),
): Promise<Bundle> {
  switch (runtime) {
    case "javascript": {
      const input = { kind: "file", path: file, name } as const;
      return bundleModule(project === undefined ? input : { ...input, project }, lane);
    }
    case "python":
      return (await import("./python.ts")).bundlePythonFile(file, name, packages, lane);
    case "wasi":
      return bundleWasmFile(file, name, true);
    case "native":
      return bundleBinary(file, name, path.basename(file), true);
    default:
      return runtime satisfies never;
  }
}

/** Bundles an unpacked package with its dependencies. */
export async function bundlePackage(
  folder: string,
  layout: PackageLayout,
  name: string,
  options: ResolvedPackageOptions,
  lane: string | null,
): Promise<Bundle> {
  switch (layout.kind) {
    case "module": {
      const scope = await scopeOf(await readDependencies(folder, options));
      return bundleModule({ kind: "file", path: path.join(folder, layout.entry), name, scope }, lane);
    }
    case "python":
    case "project":
      return (await import("./python.ts")).bundlePythonPackage(folder, layout.entry, options, lane);
    case "wasi":
      return bundleWasmFile(path.join(folder, layout.entry), name, false);
    case "native":
      return bundleBinary(path.join(folder, layout.entry), name, layout.entry, false, NO_MODULE);
    default:
      return layout satisfies never;
  }
}

/** Advice for a package with a single file of another name, which is taken for a native binary. */
const NO_MODULE = "; a module would be code/function.ts, code/function.mjs, code/function.js or code/function.py";

/** A binary is not a script: its realm requests it by its hash. */
async function bundleBinary(
  file: string,
  name: string,
  shown: string,
  isOperators: boolean,
  advice = "",
): Promise<Bundle> {
  try {
    const { hash, bytes } = await readBinary(file, shown, isOperators);
    return { runtime: "native", text: hash, bytes: bytes.length, sourceMap: "", sources: [shown], binary: bytes };
  } catch (error) {
    if (!(error instanceof GloveboxError || error instanceof PackageError)) throw error;
    const details = error.details;
    throw new GloveboxError("load_error", `tool "${name}" could not be loaded: ${error.message}${advice}`, details);
  }
}

/** Decides by the file name's extension. */
function runtimeOf(file: string): DefinedRuntime {
  switch (path.extname(file)) {
    case ".py":
      return "python";
    case ".wasm":
      return "wasi";
    default:
      return "javascript";
  }
}

/** Resolves links, because the packages at their targets are what is imported. */
async function scopeOf({ names, modules }: Dependencies): Promise<PackageScope> {
  if (modules === undefined || names.size === 0) return { names, modules: undefined };
  return { names, modules: path.dirname(await realpath(path.join(modules, "node_modules"))) };
}
