import { copyFile, lstat, mkdir, mkdtemp, opendir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { AgentError } from "./agent-config.ts";

const FILES_MAX = 1_000;
const BYTES_MAX = 10 * 1024 * 1024;
/** Folders of a project in which Python may find its packages. */
const ROOTS = ["", "src"] as const;
const REQUIREMENTS = "requirements.txt";
const CACHE = "__pycache__";

/** A tool package made of a project's modules; its disposal removes it. */
export interface AgentPackage extends AsyncDisposable {
  readonly path: string;
}

/** Parts of a tool package. */
export interface AgentPackageParts {
  readonly id: string;
  /** The project's folder. */
  readonly folder: string;
  /** Its modules, by the names with which they are imported. */
  readonly modules: readonly string[];
  /** The text of `function.py`, which imports them. */
  readonly entry: string;
  /** Lines of `requirements.txt`. Default: the project's file. */
  readonly requirements: readonly string[] | undefined;
}

/** Makes a tool package of Python modules of a project. Rejects with an `AgentError`. */
export async function packageOf({
  id,
  folder,
  modules,
  entry,
  requirements,
}: AgentPackageParts): Promise<AgentPackage> {
  const root = await mkdtemp(path.join(tmpdir(), "glovebox-agent-"));
  const owned = { [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
  try {
    const place = path.join(root, id.replaceAll(/[^\w.-]/g, "_"));
    const code = path.join(place, "code");
    await mkdir(code, { recursive: true });
    const copy = new Copy();
    const taken = new Set<string>();
    for (const module of modules) {
      const found = await findModule(folder, module);
      if (taken.size < taken.add(found).size) await copy.take(found, path.join(code, path.basename(found)));
    }
    const listed = path.join(folder, REQUIREMENTS);
    if (requirements !== undefined) await writeFile(path.join(code, REQUIREMENTS), requirements.join("\n"));
    else if (await isFile(listed)) await copy.take(listed, path.join(code, REQUIREMENTS));
    await writeFile(path.join(code, "function.py"), entry);
    return { path: place, ...owned };
  } catch (error) {
    await owned[Symbol.asyncDispose]();
    throw error;
  }
}

/** The file or the folder, on Python's path, in which a module is. */
async function findModule(folder: string, module: string): Promise<string> {
  const [name = "", ...inner] = module.split(".");
  for (const root of ROOTS.map((one) => path.join(folder, one))) {
    const file = path.join(root, name, ...inner);
    const isThere = (await isFile(`${file}.py`)) || (await lstat(file).catch(() => undefined))?.isDirectory() === true;
    if (isThere) return inner.length === 0 && (await isFile(`${file}.py`)) ? `${file}.py` : path.join(root, name);
  }
  const tail = [name, ...inner].join("/");
  throw new AgentError(`it needs the Python module "${module}", and the folder has neither ${tail}.py nor ${tail}/`);
}

async function isFile(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined))?.isFile() === true;
}

/** Copies files within limits. Follows no links; leaves out caches and names that begin with a dot. */
class Copy {
  #files = 0;
  #bytes = 0;

  async take(from: string, to: string): Promise<void> {
    const found = await lstat(from);
    if (found.isDirectory()) {
      await mkdir(to);
      for await (const { name } of await opendir(from)) {
        if (!name.startsWith(".") && name !== CACHE) await this.take(path.join(from, name), path.join(to, name));
      }
      return;
    }
    const name = path.basename(from);
    if (!found.isFile()) throw new AgentError(`its file "${name}" is a link or no file; replace it by its target`);
    this.#bytes += found.size;
    if (++this.#files > FILES_MAX || this.#bytes > BYTES_MAX) {
      throw new AgentError(`its packages have more than ${FILES_MAX} files or ${BYTES_MAX} bytes`);
    }
    await copyFile(from, to);
  }
}
