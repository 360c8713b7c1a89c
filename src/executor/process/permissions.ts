import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { sep } from "node:path";
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
  for (const name of PACKAGES) {
    const folder = modulesFolder(require, name);
    if (folder !== null) readable.add(folder);
  }
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

function modulesFolder(require: NodeJS.Require, name: string): string | null {
  try {
    const file = realpathSync(require.resolve(name));
    const at = file.lastIndexOf(`${sep}node_modules${sep}`);
    return at < 0 ? null : file.slice(0, at + `${sep}node_modules${sep}`.length);
  } catch {
    // Not every layout shows a dependency's own dependency from here; its folder is then within the others'.
    return null;
  }
}
