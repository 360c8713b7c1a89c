import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { RuntimeCode } from "../../base/protocol/prelude.ts";

/**
 * V8 flags for every process that runs tools. The threads executor sets them in a process that already runs JavaScript,
 * so each has to be safe at any time.
 */
export const V8_FLAGS: readonly string[] = [
  // Without this flag V8 compiles some ordinary loops so that nothing can interrupt them.
  "--no-turboshaft-loop-unrolling",
  // Concurrent optimizations are lost while no thread is in the isolate: hot tools would stay several times slower, so
  // the calling thread compiles them itself.
  "--no-concurrent-recompilation",
  // Maglev inlines loops into our own frames, where they are never optimized further.
  "--no-maglev-inlining",
  // V8 compiles a regular expression for its interpreter, and on its second use once more: long ones, as in parsers of
  // Markdown, take most of a tool's first call. `--no-regexp-tier-up` would say the same, but a process that sets it
  // after it has used a regular expression jumps to address 0 at the second use.
  "--regexp-tier-up-ticks=0",
];

/** Packages that an executor process loads, with their dependencies, which strict package managers hide from others. */
export const PACKAGES = {
  ajv: ["fast-deep-equal"],
  "ajv-formats": [],
  "isolated-vm": ["node-gyp-build"],
  piscina: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;
/** For V8 versions without it by default: lets WebAssembly code wait for promises (JSPI). */
const SUSPENDING_FLAG = "--experimental-wasm-jspi";

/**
 * Flags of an executor process: read access to this package's code and the files of runtimes only, no network, no
 * children; and the V8 flags that tools need.
 */
export function executorFlags(runtimes: readonly RuntimeCode[]): string[] {
  return [
    "--permission",
    "--allow-worker",
    "--allow-addons",
    ...[...readablePaths(), ...rootsOf(runtimes), ...THREAD_TIMES].map((path) => `--allow-fs-read=${path}`),
    "--no-node-snapshot",
    ...V8_FLAGS,
    ...(typeof Reflect.get(Reflect.get(globalThis, "WebAssembly") as object, "Suspending") === "function"
      ? []
      : [SUSPENDING_FLAG]),
    "--no-warnings",
  ];
}

/** The path of a runtime's files inside the sandbox, which hides their path on the host. */
export function rootInside({ name }: RuntimeCode): string {
  return `/runtimes/${name}`;
}

/** The files from which the watch reads the processor time of each worker. */
const THREAD_TIMES = ["/proc/self/task/", "/proc/thread-self/"];

function rootsOf(runtimes: readonly RuntimeCode[]): readonly string[] {
  return runtimes.flatMap((runtime) =>
    runtime.files === null ? [] : [`${runtime.files.root}${sep}`, `${rootInside(runtime)}/`],
  );
}

/** The files and folders that an executor process may read; a folder's path ends with a separator. */
export function readablePaths(): Set<string> {
  // `/etc/alpine-release`: node-gyp-build reads it to detect the libc.
  // `src/` or its compiled form, and the `package.json` above it, which makes its files modules.
  const own = [new URL("../../../", import.meta.url), new URL("../../../../package.json", import.meta.url)];
  const readable = new Set([...own.map((url) => fileURLToPath(url)), "/etc/alpine-release"]);
  const require = createRequire(import.meta.url);
  const folders = Object.entries(PACKAGES).flatMap(([name, inner]) => {
    const within = createRequire(realpathSync(require.resolve(name)));
    return [...modulesFolders(require, name), ...inner.flatMap((each) => modulesFolders(within, each))];
  });
  for (const folder of folders) readable.add(folder);
  return readable;
}

/** The folders through which a package is found, and its real location: links are common. */
function modulesFolders(require: NodeJS.Require, name: string): string[] {
  const folders = (require.resolve.paths(name) ?? []).filter((folder) => existsSync(join(folder, name)));
  const file = realpathSync(require.resolve(name));
  const at = file.lastIndexOf(`${sep}node_modules${sep}`);
  if (at >= 0) folders.push(file.slice(0, at + `${sep}node_modules`.length));
  return folders.map((folder) => `${folder}${sep}`);
}
