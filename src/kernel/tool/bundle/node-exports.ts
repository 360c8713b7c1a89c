import { createRequire } from "node:module";
import path from "node:path";
import type { Manifests } from "./manifest.ts";
import { namesPath, packageFolders, packageName } from "./specifier.ts";

/**
 * The file that Node.js would load; `undefined` if it would find none, or if no encoding has that name. A package may
 * have another one for `import` than for `require`, or one of both only.
 */
export async function resolvedByNode(
  specifier: string,
  folder: string,
  kind: string,
  manifests: Manifests,
): Promise<string | undefined> {
  const isImport = kind === "import-statement" || kind === "dynamic-import";
  const found = isImport && !namesPath(specifier) ? await imported(specifier, folder, manifests) : undefined;
  return found ?? required(specifier, folder);
}

function required(specifier: string, folder: string): string | undefined {
  try {
    return createRequire(path.join(folder, "index.js")).resolve(specifier);
  } catch {
    return undefined;
  }
}

/** Resolves an `import` by the `exports` of an installed package: no function of Node.js does so for another module. */
async function imported(specifier: string, folder: string, manifests: Manifests): Promise<string | undefined> {
  const name = packageName(specifier);
  for (const one of packageFolders(folder)) {
    const root = path.join(one, name);
    const manifest = await manifests.of(path.join(root, "package.json"));
    // A folder without its own file uses that of a folder above.
    if (manifest.folder !== root) continue;
    const target = targetOf(manifest.exports, `.${specifier.slice(name.length)}`);
    return target === undefined ? undefined : path.join(root, target);
  }
  return undefined;
}

/** The target of a part of a package; those with a pattern are left to `require`. */
function targetOf(exports: unknown, part: string): string | undefined {
  const isByPart =
    typeof exports === "object" && exports !== null && Object.keys(exports).some((key) => key[0] === ".");
  if (isByPart) return conditional((exports as Readonly<Record<string, unknown>>)[part]);
  return part === "." ? conditional(exports) : undefined;
}

const CONDITIONS: ReadonlySet<string> = new Set(["node", "import", "module-sync", "default"]);

function conditional(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (typeof target !== "object" || target === null) return undefined;
  for (const [condition, inner] of Object.entries(target)) {
    const found = CONDITIONS.has(condition) ? conditional(inner) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
