import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { pythonPlace } from "../../tool/runtimes/python/place.ts";

/** What V8 has to be told wherever tools run. */
export const V8_FLAGS: readonly string[] = [
  // Without this V8 compiles some ordinary loops so that nothing can interrupt them.
  "--no-turboshaft-loop-unrolling",
  // What V8 optimizes on another thread while nobody is in the isolate is lost: hot tools would stay several times
  // slower than they could be, so the thread that calls them compiles them itself.
  "--no-concurrent-recompilation",
  // And what its middle compiler inlines into our own frames stays there: a hot loop never gets beyond it.
  "--no-maglev-inlining",
];

/** Packages that an executor process loads itself. */
const PACKAGES = ["piscina", "isolated-vm"];
/** Where V8 does not have it by itself: what runs in WebAssembly may wait for promises. */
const SUSPENDING_FLAG = "--experimental-wasm-jspi";
/** And the one that isolated-vm loads, which strict package managers let nobody else find. */
const ADDON_LOADER = "node-gyp-build";

/**
 * Flags of an executor process: no files but this package's code, no network, no children; and the V8 flags that
 * tools need.
 */
export function executorFlags(): string[] {
  return [
    "--permission",
    "--allow-worker",
    "--allow-addons",
    ...[...readablePaths(), ...pythonPaths()].map((path) => `--allow-fs-read=${path}`),
    "--no-node-snapshot",
    ...V8_FLAGS,
    ...(typeof Reflect.get(Reflect.get(globalThis, "WebAssembly") as object, "Suspending") === "function"
      ? []
      : [SUSPENDING_FLAG]),
    "--no-warnings",
  ];
}

/** Where Python's images are for processes in the sandbox: where the host keeps them is no business of theirs. */
export const PYTHON_INSIDE = "/python";

function pythonPaths(): readonly string[] {
  const place = pythonPlace();
  return place === null ? [] : [`${place.cache}${sep}`, `${PYTHON_INSIDE}/`];
}

/** The files and folders that an executor process may read; a folder's path ends with a separator. */
export function readablePaths(): Set<string> {
  // The last is what node-gyp-build looks for to tell which libc it runs on.
  const readable = new Set([packagePath("../../"), packagePath("../../../package.json"), "/etc/alpine-release"]);
  const require = createRequire(import.meta.url);
  const addonRequire = createRequire(realpathSync(require.resolve("isolated-vm")));
  const folders = [
    ...PACKAGES.flatMap((name) => modulesFolders(require, name)),
    ...modulesFolders(addonRequire, ADDON_LOADER),
  ];
  for (const folder of folders) readable.add(folder);
  return readable;
}

/** `src/` or `dist/`, and the `package.json` above it that makes its files modules. */
function packagePath(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** The folders through which a package is found, and the one where it really lies: links are common. */
function modulesFolders(require: NodeJS.Require, name: string): string[] {
  const folders = (require.resolve.paths(name) ?? []).filter((folder) => existsSync(join(folder, name)));
  const file = realpathSync(require.resolve(name));
  const at = file.lastIndexOf(`${sep}node_modules${sep}`);
  if (at >= 0) folders.push(file.slice(0, at + `${sep}node_modules`.length));
  return folders.map((folder) => `${folder}${sep}`);
}
