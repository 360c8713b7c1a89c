import { readdir, readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { notePackages } from "./bundled-packages.ts";

/**
 * The library of Node's names, as texts that a worker sends into realms which use them: a script for each part, and the
 * names of the exports of each module of Node. Its npm packages are development dependencies: a build contains them.
 */

const GLOBAL_NAME = "__part";
const PART_NAMESPACE = "part";
const SHARED_NAMESPACE = "shared";

/**
 * Wrapper of a package that shows values. The package assumes more than a realm has, copies frozen built-ins and
 * replaces some of the copies, and looks for constructors and methods in descriptors: in a realm, those that objects
 * may override are accessors. It joins lists by `join`, which copies deep values once for each level; Node does so
 * piece by piece.
 */
const AROUND_INSPECTION = `
const joined = (texts, separator) => {
  let text = texts.length === 0 ? "" : texts[0];
  for (let at = 1; at < texts.length; at++) text += separator + texts[at];
  return text;
};
const describe = (target, key) => {
  const property = Reflect.getOwnPropertyDescriptor(target, key);
  if (property?.get === undefined || property.set === undefined || key === "caller" || key === "arguments") return property;
  if (target === null || !Object.isFrozen(target)) return property;
  const value = target[key];
  return typeof value === "function" ? { value, enumerable: property.enumerable } : property;
};
const define = (target, key, property) =>
  Reflect.defineProperty(target, key, "value" in property ? { ...property, writable: true, configurable: true } : property);
const OpenObject = Object.defineProperties(function Object() {}, {
  ...Object.getOwnPropertyDescriptors(Object),
  getOwnPropertyDescriptor: { value: (target, key) => describe(Object(target), key) },
});
const openReflect = Object.create(Reflect, { defineProperty: { value: define }, getOwnPropertyDescriptor: { value: describe } });
const wholeGlobal = Object.create(globalThis, {
  Object: { value: OpenObject },
  Atomics: { value: {} },
  WeakRef: { value: class WeakRef {} },
  FinalizationRegistry: { value: class FinalizationRegistry {} },
});
`;

/**
 * Texts of files of `readable-stream`, and what stands in their places: its objects get prototypes that are frozen with a
 * realm, in the place of those that nothing but the objects leads to.
 */
const HIDDEN: { readonly [file: string]: readonly [text: string, by: string] } = {
  operators: ["super('reduce')", "super('reduce'); Object.setPrototypeOf(this, ERR_MISSING_ARGS.prototype)"],
  pipeline: [
    "return fromReadable(val)",
    "return Object.setPrototypeOf(fromReadable(val), Object.getPrototypeOf(fromReadable.prototype))",
  ],
};

/** Bundles the library, keyed by the names by which a realm asks for its texts. */
export async function bundleNodeLibrary(): Promise<Readonly<Record<string, string>>> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const folder = fileURLToPath(new URL("../../guest/node/", import.meta.url));
  const files = (await readdir(folder)).filter(
    (file) => file.endsWith(`.${extension}`) && !file.endsWith(`.d.${extension}`),
  );
  const parts = files.map((file) => path.basename(file, `.${extension}`)).filter((part) => part !== "node");
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: Object.fromEntries(parts.map((part) => [part, path.join(folder, `${part}.${extension}`)])),
    outdir: "node",
    write: false,
    metafile: true,
    bundle: true,
    format: "iife",
    globalName: GLOBAL_NAME,
    platform: "browser",
    mainFields: ["browser", "module", "main"],
    conditions: ["browser", "import"],
    target: "esnext",
    define: {
      global: "globalThis",
      "process.env.NODE_ENV": '"production"',
      // Of path-browserify; other packages import it.
      "process.cwd": "__cwd",
      NODE_CONSTANTS: JSON.stringify(constants()),
    },
    minifyWhitespace: true,
    minifySyntax: true,
    // Packages warn once in a realm: the next call could detect that another one preceded it.
    drop: ["console"],
    legalComments: "none",
    logLevel: "silent",
    tsconfigRaw: "{}",
    plugins: [linked(folder, extension, parts)],
  });
  notePackages(result.metafile);
  const scripts = result.outputFiles.map(({ path: file, text }) => {
    const script = `(function (__library) {\n"use strict";\nconst __cwd = () => "/";\n${text}return ${GLOBAL_NAME};\n})`;
    return [`node/${path.basename(file, ".js")}`, script] as const;
  });
  return { ...Object.fromEntries(scripts), ...memberNames() };
}

/** Makes a part reach other parts through the library, and its packages reach Node's modules there. */
function linked(folder: string, extension: string, parts: readonly string[]): Plugin {
  return {
    name: "node-library",
    setup: (build) => {
      build.onResolve({ filter: /^\.\.?\/[\w-]+\.[jt]s$/ }, (args) => {
        const file = path.resolve(path.dirname(args.importer), args.path);
        const name = path.basename(file, `.${extension}`);
        const isLink = args.kind !== "entry-point" && path.dirname(file) === path.dirname(`${folder}x`);
        return isLink && parts.includes(name) ? { path: name, namespace: PART_NAMESPACE } : undefined;
      });
      build.onResolve(
        { filter: /^(?:node:)?(?:buffer|events|string_decoder|process|stream|util|querystring|punycode|path|url)\/?$/ },
        (args) => {
          if (!args.importer.includes("node_modules")) return undefined;
          return { path: args.path.replace(/^node:/, "").replace("/", ""), namespace: SHARED_NAMESPACE };
        },
      );
      build.onResolve({ filter: /^abort-controller$/ }, () => ({ path: "web", namespace: SHARED_NAMESPACE }));
      build.onLoad({ filter: /node-inspect-extracted.dist.inspect\.js$/ }, async ({ path: file }) => {
        const text = (await readFile(file, "utf8")).replace("join:o,", "join:joined,");
        const contents = `${AROUND_INSPECTION}(function (globalThis, Reflect) {${text}\n})(wholeGlobal, openReflect);`;
        return { contents };
      });
      build.onLoad({ filter: /readable-stream.lib.internal.streams.\w+\.js$/ }, async ({ path: file }) => {
        const [text, by] = HIDDEN[path.basename(file, ".js")] ?? [];
        if (text === undefined || by === undefined) return undefined;
        const contents = await readFile(file, "utf8");
        if (!contents.includes(text)) throw new Error(`this version of readable-stream has no ${text}`);
        return { contents: contents.replace(text, () => by) };
      });
      build.onLoad({ filter: /.*/, namespace: PART_NAMESPACE }, ({ path: part }) => ({
        contents: `module.exports = __library.load(${JSON.stringify(part)});`,
      }));
      build.onLoad({ filter: /.*/, namespace: SHARED_NAMESPACE }, ({ path: part }) => ({
        contents: part === "web" ? "" : `module.exports = __library.module(${JSON.stringify(part)});`,
      }));
    },
  };
}

/** Tables of Node that packages read. */
function constants() {
  const { METHODS, STATUS_CODES } = process.getBuiltinModule("node:http");
  const { constants: os } = process.getBuiltinModule("node:os");
  const { constants: fs } = process.getBuiltinModule("node:fs");
  const compression = process.getBuiltinModule("node:zlib");
  const { constants: zlib } = compression;
  const codes: unknown = Reflect.get(compression, "codes");
  const { constants: crypto } = process.getBuiltinModule("node:crypto");
  const { constants: http2 } = process.getBuiltinModule("node:http2");
  return { METHODS, STATUS_CODES, os, fs, zlib, codes, crypto, http2 };
}

/** Names of the functions of each module of Node, separated by commas. */
function memberNames(): Readonly<Record<string, string>> {
  const names: { [name: string]: string } = { "node/names/domain": DOMAIN };
  for (const name of builtinModules) {
    const bare = name.replace(/^node:/, "");
    if (bare.startsWith("_") || SILENT.has(bare)) continue;
    const module: unknown = process.getBuiltinModule(`node:${bare}`);
    if (typeof module !== "object" || module === null) continue;
    const functions = Object.getOwnPropertyNames(module).filter((member) => {
      const property = Object.getOwnPropertyDescriptor(module, member);
      const isMadeWhenRead = property?.get !== undefined && CLASS.test(member);
      return isMadeWhenRead || (typeof property?.value === "function" && member !== "default");
    });
    names[`node/names/${bare}`] = functions.join(",");
  }
  return names;
}

/** Names of classes, some of which Node makes when they are read. */
const CLASS = /^[A-Z][a-z]/;
/** Functions of `domain`: once loaded, it replaces `EventEmitter.prototype.emit` for the whole process. */
const DOMAIN = "Domain,createDomain,create";
/** Modules that warn when they are loaded, or change others. */
const SILENT: ReadonlySet<string> = new Set(["domain", "ffi", "wasi", "sqlite", "sys", "punycode", "trace_events"]);
