import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Packages that an executor process loads, the last on behalf of isolated-vm. */
const PACKAGES = ["piscina", "isolated-vm", "node-gyp-build"];

/**
 * Flags of an executor process: no files but this package's code, no network, no children; and the V8 flags without
 * which some ordinary loops cannot be interrupted.
 */
export function executorFlags(): string[] {
  // The last is what node-gyp-build looks for to tell which libc it runs on.
  const readable = new Set([packagePath("../../"), packagePath("../../../package.json"), "/etc/alpine-release"]);
  const require = createRequire(import.meta.url);
  for (const name of PACKAGES) for (const folder of modulesFolders(require, name)) readable.add(folder);
  return [
    "--permission",
    "--allow-worker",
    "--allow-addons",
    ...[...readable].map((path) => `--allow-fs-read=${path}`),
    "--no-node-snapshot",
    "--no-turboshaft-loop-unrolling",
    "--no-warnings",
  ];
}

/** `src/` or `dist/`, and the `package.json` above it that makes its files modules. */
function packagePath(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** The folders through which a package is found, and the one where it really lies: links are common. */
function modulesFolders(require: NodeJS.Require, name: string): string[] {
  const folders = (require.resolve.paths(name) ?? []).filter((folder) => existsSync(join(folder, name)));
  try {
    const file = realpathSync(require.resolve(name));
    const at = file.lastIndexOf(`${sep}node_modules${sep}`);
    if (at >= 0) folders.push(file.slice(0, at + `${sep}node_modules`.length));
  } catch {
    // Not every layout shows a dependency's own dependency from here; its folder is then within the others'.
  }
  return folders.map((folder) => `${folder}${sep}`);
}
