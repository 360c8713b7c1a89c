import { library, type NodeModule } from "./inner/library.ts";

/** `node:module`: `createRequire` finds Node's modules. */

const NAMES = [
  "assert",
  "assert/strict",
  "async_hooks",
  "buffer",
  "child_process",
  "cluster",
  "console",
  "constants",
  "crypto",
  "dgram",
  "diagnostics_channel",
  "dns",
  "dns/promises",
  "domain",
  "events",
  "fs",
  "fs/promises",
  "http",
  "http2",
  "https",
  "inspector",
  "module",
  "net",
  "os",
  "path",
  "path/posix",
  "path/win32",
  "perf_hooks",
  "process",
  "punycode",
  "querystring",
  "readline",
  "readline/promises",
  "repl",
  "stream",
  "stream/consumers",
  "stream/promises",
  "stream/web",
  "string_decoder",
  "sys",
  "timers",
  "timers/promises",
  "tls",
  "tty",
  "url",
  "util",
  "util/types",
  "v8",
  "vm",
  "wasi",
  "worker_threads",
  "zlib",
];

const isBuiltin = (name: unknown): boolean => NAMES.includes(String(name as string).replace(/^node:/, ""));

function createRequire(): object {
  const find = (name: unknown): unknown => {
    const bare = String(name as string);
    if (isBuiltin(bare)) return library.state().require(bare.replace(/^node:/, ""));
    if (bare.endsWith(".node")) throw library.refusal("process", "dlopen");
    throw Object.assign(new Error(`Cannot find module '${bare}': a tool is bundled with what it imports by name`), {
      code: "MODULE_NOT_FOUND",
    });
  };
  return Object.assign(find, { resolve: (name: unknown) => name, cache: {}, main: undefined });
}

function Module(): void {}
const members: NodeModule = {
  builtinModules: NAMES,
  isBuiltin,
  createRequire,
  _extensions: {},
  _cache: {},
  enableCompileCache: () => undefined,
  findSourceMap: () => undefined,
  syncBuiltinESMExports: () => undefined,
};
Object.assign(Module, members, { Module });

export function open(): NodeModule {
  return { ...members, _extensions: {}, _cache: {}, builtinModules: [...NAMES], Module };
}

export const hidden = [Module];
