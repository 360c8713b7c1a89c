import { lstat, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { errnoOf } from "../kernel/base/errno.ts";
import { readVersion } from "../kernel/base/check-node.ts";
import { CliError, EXIT } from "./exit.ts";

const FOLDER = fileURLToPath(new URL("../../templates", import.meta.url));
const NAME_MAX = 100;

/**
 * Writes a template's files into a folder, and returns their paths from it. Rejects with a `CliError`, before it has
 * written any, if one of them exists.
 */
export async function writeTemplate(template: string, folder: string): Promise<readonly string[]> {
  const files = new Map<string, string>();
  for (const layer of ["all", ...(template === "tool-py" ? [] : ["typescript"]), template]) {
    for (const file of await filesIn(path.join(FOLDER, layer)))
      files.set(shownName(file), path.join(FOLDER, layer, file));
  }
  const there = await stat(folder).catch(() => null);
  if (there?.isDirectory() === false) throw new CliError(EXIT.USAGE, `${folder} is a file: name a folder`);
  const names = [...files.keys()].toSorted();
  const taken = await Promise.all(names.map((name) => lstat(path.join(folder, name)).then(Boolean, () => false)));
  const existing = names.filter((_name, at) => taken[at]);
  if (existing.length > 0) {
    throw new CliError(EXIT.USAGE, `${folder} has ${existing.join(", ")} already: name another folder`);
  }
  for (const [name, source] of files) {
    const text = await readFile(source, "utf8");
    const file = path.join(folder, name);
    const contents = name === "package.json" ? own(text, path.resolve(folder)) : text;
    await makeFolder(path.dirname(file))
      .then(() => writeFile(file, contents, { flag: "wx" }))
      .catch((error: unknown) => {
        const why = errnoOf(error) ?? "unknown error";
        throw new CliError(EXIT.USAGE, `${folder} cannot be written: ${why}; name a folder that this user may write`);
      });
  }
  return names;
}

/** Of a read-only file system, Node's recursive form says `ENOENT`, the other one the reason. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch(() => mkdir(folder));
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)));
}

/** npm omits files of this name from packages. */
function shownName(file: string): string {
  return file === "gitignore" ? ".gitignore" : file;
}

/** The manifest of the new project: its name is that of its folder, and it depends on this version. */
function own(manifest: string, folder: string): string {
  const { dependencies, ...rest } = JSON.parse(manifest) as { readonly dependencies: object };
  const name = path
    .basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, NAME_MAX);
  const named = { ...rest, name: name === "" || name === "glovebox" ? "tools" : name };
  return `${JSON.stringify({ ...named, dependencies: { ...dependencies, glovebox: `^${readVersion()}` } }, null, 2)}\n`;
}
