import { readFile, writeFile } from "node:fs/promises";
import { basename, extname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";
import { CHECKS_GLOBAL, type Prelude, type RuntimeCode, textsOf } from "../../base/protocol/prelude.ts";
import type { ToolRuntime } from "./runtime.ts";

const GLOBAL_NAME = "__prelude";
const ADDED_NAME = "__added";
/** Modules of the prelude that libraries import. */
const SHARED = /\/guest\/(?:contracts\/defined|tool-context)\.[jt]s$/;
const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";
/** The folder of the programs inside isolates. */
const GUEST = new URL("../../guest/", import.meta.url);
/** The folder of all packages. */
const PACKAGES = new URL("../../../", import.meta.url);
/** Parts evaluated only when a tool first uses them, keyed by their names in the prelude. */
const DEFERRED = { console: "web/console", web: "web/index", fs: "faces/fs" };
/** Long parts that few tools use: an isolate does not even hold their text before the first use. */
const ABSENT = { fetch: "web/fetch-globals", streams: "web/stream-globals", node: "node/node" };

/** The scripts, bundled by `npm run build`: esbuild's start is half of an engine's. */
const BUILT_SCRIPTS = new URL("../../guest/scripts.json", import.meta.url);
/** The parts that only processes with tools read. */
const BUILT_PARTS = new URL("../../guest/parts.json", import.meta.url);

interface Scripts {
  /** `core` lacks its end, before which adapters are inserted. */
  readonly prelude: Omit<Prelude, "runtimes">;
  /**
   * Expressions of plugins' additions, by their files, relative to the folder of all packages and without their
   * extension.
   */
  readonly added: { readonly [file: string]: string };
  /** An expression whose value describes schemas of libraries, for `describing`. */
  readonly describer: string;
}

/** A module that a plugin adds, and the used export. */
interface Addition {
  readonly file: URL;
  readonly value: "adapter" | "createEngine()" | "libraries";
}

interface BuiltScripts extends Omit<Scripts, "prelude"> {
  readonly prelude: Omit<Scripts["prelude"], "parts">;
}

let scripts: Promise<Scripts> | null = null;

function loadScripts(): Promise<Scripts> {
  scripts ??= readScripts().then((built) => built ?? bundleScripts());
  return scripts;
}

/** Additions of plugins to the programs inside isolates. */
export interface PreludeParts {
  /** Files of modules that export the `adapter` of a contract, in the order in which they are tried. */
  readonly adapters?: readonly URL[];
  readonly runtimes?: Iterable<ToolRuntime>;
  /** Files of modules that export `libraries`, how the tools of libraries are recognised and called. */
  readonly libraries?: readonly URL[];
}

/** The guest's prelude: the core is one script that evaluates to its `boot` function. */
export async function loadPrelude({
  adapters = [],
  runtimes = [],
  libraries = [],
}: PreludeParts = {}): Promise<Prelude> {
  const { prelude } = await loadScripts();
  const codes = [...runtimes].map(async (runtime): Promise<RuntimeCode> => {
    const { name, isInterpreted = false, engine, worker, files } = runtime;
    return {
      name,
      isInterpreted,
      engine: engine === undefined ? null : await expressionOf({ file: engine, value: "createEngine()" }),
      module: worker?.href ?? null,
      files: files?.() ?? null,
    };
  });
  const added = await Promise.all([
    ...adapters.map(async (file) => `addAdapter(${await expressionOf({ file, value: "adapter" })})`),
    ...libraries.map(async (file) => `addLibraries(${await expressionOf({ file, value: "libraries" })})`),
  ]);
  const statements = added.map((call) => `${GLOBAL_NAME}.${call};\n`).join("");
  const core = script(`${prelude.core}${statements}return ${GLOBAL_NAME}.boot;`);
  return { ...prelude, core, runtimes: await Promise.all(codes) };
}

/** Those that were bundled in this process, which makes more than one engine. */
const bundled = new Map<string, Promise<string>>();

/** The addition of a module, as an expression: from the build, or bundled once. */
async function expressionOf(addition: Addition): Promise<string> {
  const { added } = await loadScripts();
  const key = keyOf(addition.file);
  const known = added[key] ?? bundled.get(key);
  if (known !== undefined) return known;
  const bundling = bundleAddition(addition);
  bundled.set(key, bundling);
  bundling.catch(() => bundled.delete(key));
  return bundling;
}

function keyOf(file: URL): string {
  const path = relative(fileURLToPath(PACKAGES), fileURLToPath(file));
  return path.slice(0, path.length - extname(path).length);
}

/** Script that describes schemas of libraries, for the isolate of a module with tools of other libraries. */
export async function loadDescriber(): Promise<string> {
  return (await loadScripts()).describer;
}

/** `null` if there is no build: in the sources, which may be newer. */
async function readScripts(): Promise<Scripts | null> {
  if (import.meta.url.endsWith(".ts")) return null;
  const text = await readFile(BUILT_SCRIPTS, "utf8").catch(() => null);
  if (text === null) return null;
  const { prelude, ...others } = JSON.parse(text) as BuiltScripts;
  return { prelude: { ...prelude, parts: { file: fileURLToPath(BUILT_PARTS) } }, ...others };
}

/** A step of `npm run build`: bundles the additions of plugins as well. @public */
export async function writeScripts({ adapters = [], runtimes = [], libraries = [] }: PreludeParts): Promise<void> {
  const { prelude, describer } = await bundleScripts();
  const { parts, ...rest } = prelude;
  await writeFile(BUILT_PARTS, JSON.stringify(textsOf(parts)));
  const additions: readonly Addition[] = [
    ...adapters.map((file) => ({ file, value: "adapter" }) as const),
    ...[...runtimes].flatMap(({ engine }) =>
      engine === undefined ? [] : [{ file: engine, value: "createEngine()" } as const],
    ),
    ...libraries.map((file) => ({ file, value: "libraries" }) as const),
  ];
  const texts = additions.map(async (one) => [keyOf(one.file), await bundleAddition(one)] as const);
  const added = Object.fromEntries(await Promise.all(texts));
  await writeFile(BUILT_SCRIPTS, JSON.stringify({ prelude: rest, describer, added }));
}

async function bundleScripts(): Promise<Scripts> {
  const { bundleNodeLibrary } = await import("./node-library.ts");
  const [texts, checks, describers, node] = await Promise.all([
    bundleFiles("guest", GLOBAL_NAME, { core: "prelude", ...DEFERRED, ...ABSENT }),
    bundleFiles("base/schema", CHECKS_GLOBAL, { checks: "check-runtime" }),
    bundleFiles("base/schema", GLOBAL_NAME, { describer: "describe-library" }),
    bundleNodeLibrary(),
  ]);
  const textOf = (name: string): string => texts.get(name) ?? "";
  const deferred = Object.keys(DEFERRED).map((name) => `${name}() {\n${textOf(name)}return ${GLOBAL_NAME};\n}`);
  const core = `const DEFERRED = {\n${deferred.join(",\n")}\n};\n${textOf("core")}`;
  const parts = Object.keys(ABSENT).map((name) => [name, script(`${textOf(name)}return ${GLOBAL_NAME};`)] as const);
  const prelude = {
    core,
    parts: { texts: { ...Object.fromEntries(parts), ...node } },
    checks: checks.get("checks") ?? "",
  };
  const describer = `${describers.get("describer") ?? ""}return ${GLOBAL_NAME}.describeLibrarySchema;`;
  return { prelude, describer: script(describer), added: {} };
}

/** Bundles a module, as an expression whose value is its addition. */
async function bundleAddition({ file, value }: Addition): Promise<string> {
  const texts = await bundlePaths(ADDED_NAME, { added: fileURLToPath(file) }, optionsOf({ file, value }));
  return script(`${texts.get("added") ?? ""}return ${ADDED_NAME}.${value};`);
}

function optionsOf({ file, value }: Addition): RealmOptions {
  switch (value) {
    case "adapter":
      return {};
    case "createEngine()":
      // Bundles of other packages do not use the streams of the prelude.
      return keyOf(file).startsWith("..") ? {} : IN_REALMS;
    case "libraries":
      return { plugins: [shared] };
    default:
      return value satisfies never;
  }
}

/** Modules shared between libraries and the prelude come from the prelude. */
const shared: Plugin = {
  name: "shared",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
      const place = resolve(resolveDir, path);
      if (!SHARED.test(place)) return undefined;
      // The bundle contains this name, which must not reveal the place of the build.
      return { path: relative(fileURLToPath(PACKAGES), place), namespace: "shared" };
    });
    const contents = `module.exports = ${GLOBAL_NAME};`;
    bundler.onLoad({ filter: /./, namespace: "shared" }, () => ({ contents, loader: "js" }));
  },
};

/** A script that evaluates to the body's return value. */
function script(body: string): string {
  return `(function () {\n"use strict";\n${body}\n})()`;
}

/** Bundles modules of a folder with all their imports, as statements that declare `globalName`. Keyed by name. */
function bundleFiles(
  folder: string,
  globalName: string,
  files: { readonly [name: string]: string },
): Promise<ReadonlyMap<string, string>> {
  const paths = Object.entries(files).map(([name, file]) => {
    return [name, fileURLToPath(new URL(`../../${folder}/${file}.${EXTENSION}`, import.meta.url))] as const;
  });
  return bundlePaths(globalName, Object.fromEntries(paths), IN_REALMS);
}

type RealmOptions = Pick<BuildOptions, "define" | "inject" | "plugins">;

const IN_REALMS: RealmOptions = {
  // The stream classes must not capture this: it would belong to the call that first uses it.
  define: { queueMicrotask: "undefined" },
  // They transfer buffers by this module's export `structuredClone`.
  inject: [fileURLToPath(new URL(`web/transfer.${EXTENSION}`, GUEST))],
};

async function bundlePaths(
  globalName: string,
  entryPoints: { readonly [name: string]: string },
  more: RealmOptions,
): Promise<ReadonlyMap<string, string>> {
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: { ...entryPoints },
    // Nothing is written there, but several bundles need distinct names.
    outdir: "prelude",
    write: false,
    bundle: true,
    format: "iife",
    globalName,
    platform: "neutral",
    target: "esnext",
    metafile: true,
    ...more,
    // Each isolate holds the text.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "silent",
    tsconfigRaw: "{}",
  });
  // Loaded only for bundling, which is rare in the published package.
  const { notePackages } = await import("./bundled-packages.ts");
  notePackages(result.metafile);
  return new Map(result.outputFiles.map(({ path, text }) => [basename(path, ".js"), text]));
}
