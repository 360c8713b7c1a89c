import { builtinModules } from "node:module";
import type { OnLoadResult, OnResolveResult, PluginBuild } from "esbuild";
import { NODE_NAME } from "../../guest/host.ts";
import { MISSING_NAMESPACE, missingText } from "./missing.ts";

/**
 * Node's names in a tool. An import of one of Node's modules becomes an access to the realm's library, as does a free
 * use of one of its globals: both go through the parameter `NODE_NAME` of the tool's factory.
 */

/** The namespaces of Node's modules in a bundle, by the kind of reference: `import` or `require`. */
const NODE_IMPORTED = "node";
const NODE_REQUIRED = "node-require";

/** Node's globals, and those of the web's that Node has and a realm lacks. */
export const NODE_GLOBALS = [
  "Buffer",
  "process",
  "setImmediate",
  "clearImmediate",
  "CryptoKey",
  "WebSocket",
  "EventSource",
  "MessageEvent",
  "CloseEvent",
  "MessageChannel",
  "MessagePort",
  "CompressionStream",
  "DecompressionStream",
  "navigator",
] as const;

/** Members of the global `performance` that Node's has, and the realm's has not. */
const TIMELINE =
  "mark measure clearMarks clearMeasures getEntries getEntriesByName getEntriesByType timerify eventLoopUtilization".split(
    " ",
  );

/** Tokens of which a module that uses a name of Node has at least one, unless it hides it behind an escape. */
export const MAY_USE_NODE = new RegExp(
  String.raw`\b(?:${NODE_GLOBALS.join("|")}|__dirname|__filename|performance\s*\.\s*(?:${TIMELINE.join("|")}))\b`,
);

/** Definitions for the bundler that lead free uses of Node's globals to the library. A bundle without any is unchanged. */
export function nodeDefinitions(): Readonly<Record<string, string>> {
  const globals = NODE_GLOBALS.flatMap((name) =>
    [name, `globalThis.${name}`, `global.${name}`].map((used) => [used, `${NODE_NAME}.${name}`] as const),
  );
  const timeline = ["performance", "globalThis.performance", "global.performance"].flatMap((name) =>
    TIMELINE.map((member) => [`${name}.${member}`, `${NODE_NAME}.performance.${member}`] as const),
  );
  return {
    ...Object.fromEntries([...globals, ...timeline]),
    "process.env.NODE_ENV": '"production"',
    "globalThis.process.env.NODE_ENV": '"production"',
    "global.process.env.NODE_ENV": '"production"',
    __dirname: '"/tool"',
    __filename: '"/tool/tool.js"',
  };
}

/** The name of a Node.js module without the `node:` prefix. */
export function bareName(specifier: string): string {
  return specifier.replace(/^node:/, "");
}

/** Modules that need their prefix, such as `node:sqlite`: without one, the name may be an npm package's. */
const PREFIXED: ReadonlySet<string> = new Set(
  builtinModules.flatMap((name) => (name.startsWith("node:") ? [name] : [])),
);

/** Whether an import names a Node.js module. */
export function isNodeBuiltin(specifier: string): boolean {
  if (specifier.startsWith("node:")) return PREFIXED.has(specifier) || builtinModules.includes(bareName(specifier));
  return builtinModules.includes(specifier) && !specifier.startsWith("_");
}

/** Modules of which an isolate has only the names. */
const NAMES_ONLY: ReadonlySet<string> = new Set(
  (
    "child_process cluster dgram dns dns/promises fs fs/promises http2 inspector inspector/promises module net repl sea " +
    "sqlite test tls trace_events vm wasi worker_threads"
  ).split(" "),
);

/** Whether an isolate has more of a module than names that refuse. */
export function isInLibrary(specifier: string): boolean {
  return !NAMES_ONLY.has(bareName(specifier));
}

/** The bundler's resolution of a module of Node. */
export function nodeModule(specifier: string, kind: string): OnResolveResult {
  const namespace = kind === "require-call" || kind === "require-resolve" ? NODE_REQUIRED : NODE_IMPORTED;
  return { path: bareName(specifier), namespace, sideEffects: false };
}

/** A module of Node for an `import`: each used export is looked up once for an instance. */
function importedText(name: string): OnLoadResult {
  const shown = JSON.stringify(name);
  const members = exportNames(name).map((member) => {
    return `export const ${member} = /* @__PURE__ */ ${NODE_NAME}.member(${shown}, "${member}");`;
  });
  const whole = `export default /* @__PURE__ */ ${NODE_NAME}.require(${shown});`;
  return { contents: [...members, whole].join("\n"), loader: "js" };
}

/** A module of Node, as `require` returns it. */
function requiredText(name: string): OnLoadResult {
  return { contents: `module.exports = ${NODE_NAME}.require(${JSON.stringify(name)});`, loader: "js" };
}

/** Gives the bundler the modules of Node. */
export function loadNodeModules(build: PluginBuild): void {
  build.onLoad({ filter: /.*/, namespace: MISSING_NAMESPACE }, (args) => missingText(args.path));
  build.onLoad({ filter: /.*/, namespace: NODE_IMPORTED }, (args) => importedText(args.path));
  build.onLoad({ filter: /.*/, namespace: NODE_REQUIRED }, (args) => requiredText(args.path));
}

/** Names that no variable can have. */
const RESERVED: ReadonlySet<string> = new Set([
  "default",
  "delete",
  "import",
  "export",
  "new",
  "class",
  "module.exports",
]);

/** Exports of `domain`: once loaded, it replaces `EventEmitter.prototype.emit` for the whole process, which is slower. */
const DOMAIN = ["Domain", "createDomain", "create", "active"];

/** The exports of a module, as the Node.js of this process has it. */
function exportNames(name: string): readonly string[] {
  if (name === "domain") return DOMAIN;
  const module: unknown = process.getBuiltinModule(`node:${name}`);
  if (module === undefined || module === null) return [];
  return Object.getOwnPropertyNames(module)
    .filter((member) => /^[A-Za-z_$][\w$]*$/.test(member) && !RESERVED.has(member))
    .filter(
      (member) =>
        typeof module !== "function" || !["length", "name", "prototype", "arguments", "caller"].includes(member),
    );
}
