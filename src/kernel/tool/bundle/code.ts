import { realpath } from "node:fs/promises";
import path from "node:path";
import { GloveboxError } from "../../base/errors.ts";
import { type Dependencies, readDependencies } from "../package/dependencies.ts";
import type { PackageLayout } from "../package/layout.ts";
import { type BundleContext, readersOf, type RuntimeSource, type ToolRuntimes } from "../runtimes/runtime.ts";
import { type Bundle, bundleModule } from "./bundle.ts";
import type { PackageScope } from "./files.ts";
import type { CheckedDefinition } from "../definition.ts";

/** Selects the bundler for a tool's runtime. No code of a tool runs. */

const JAVASCRIPT = "javascript";

/** Bundles a definition's text or file. Rejects with a `GloveboxError`: `load_error`. */
export async function bundleDefinition(
  { name, source: text, entry = "", runtime }: CheckedDefinition,
  context: BundleContext,
): Promise<Bundle> {
  if (text === undefined) return bundleFile(entry, name, context, runtime);
  if (runtime === undefined || runtime === JAVASCRIPT) return bundleModule({ kind: "text", text, name }, context.lane);
  return bundleIn(runtime, { kind: "text", name, text }, context);
}

/** Bundles a file that is a tool by itself. Its name decides the runtime, unless another setting does. */
export async function bundleFile(
  file: string,
  name: string,
  context: BundleContext,
  runtime: string = runtimeOf(file, context.runtimes),
): Promise<Bundle> {
  if (runtime !== JAVASCRIPT) return bundleIn(runtime, { kind: "file", name, path: file }, context);
  const { project, lane } = context;
  const input = { kind: "file", path: file, name } as const;
  return bundleModule(project === undefined ? input : { ...input, project }, lane);
}

/** Bundles an unpacked package with its dependencies. */
export async function bundlePackage(
  folder: string,
  { runtime, entry }: PackageLayout,
  name: string,
  context: BundleContext,
): Promise<Bundle> {
  if (runtime !== JAVASCRIPT) return bundleIn(runtime, { kind: "package", name, folder, entry }, context);
  const scope = await scopeOf(await readDependencies(folder, context.packages));
  return bundleModule({ kind: "file", path: path.join(folder, entry), name, scope }, context.lane);
}

/** Reads code of another runtime. */
async function bundleIn(runtime: string, code: RuntimeSource, context: BundleContext): Promise<Bundle> {
  const reader = context.runtimes.get(runtime)?.reader;
  if (reader !== undefined) return reader.bundle(code, context);
  const names = [JAVASCRIPT, ...readersOf(context.runtimes).keys()].join(", ");
  throw new GloveboxError(
    "load_error",
    `tool "${code.name}" has the runtime "${runtime}", but there are ${names} only`,
  );
}

function runtimeOf(file: string, runtimes: ToolRuntimes): string {
  const extension = path.extname(file);
  for (const [name, { extensions }] of readersOf(runtimes)) if (extensions.includes(extension)) return name;
  return JAVASCRIPT;
}

/** Resolves links, because imports lead to the packages at their targets. */
async function scopeOf({ names, modules }: Dependencies): Promise<PackageScope> {
  if (modules === undefined || names.size === 0) return { names, modules: undefined };
  return { names, modules: path.dirname(await realpath(path.join(modules, "node_modules"))) };
}
