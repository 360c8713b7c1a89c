import { lstat, mkdtemp, readdir, readlink, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** Folders of this process's, for what is there as long as it needs them. */
export class TemporaryFolders {
  readonly #prefix: string;
  #swept: Promise<void> | null = null;

  /** `kind`: for what they are, in lower-case letters. */
  constructor(kind: string) {
    this.#prefix = `glovebox-${kind}-`;
  }

  /** An empty folder that only this user may enter. */
  async make(): Promise<string> {
    this.#swept ??= sweep(this.#prefix).catch(() => undefined);
    const parent = await realpath(tmpdir());
    return mkdtemp(path.join(parent, `${this.#prefix}${await processSpace()}-${process.pid}-`));
  }

  async remove(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Resolves when leftovers of other processes are no longer being removed. */
  async close(): Promise<void> {
    await this.#swept;
  }
}

/**
 * Within what processes are numbered: one container's 17 is not another's, though both may have the same folder for
 * temporary files.
 */
async function processSpace(): Promise<string> {
  const link = await readlink("/proc/self/ns/pid").catch(() => "");
  return /\d+/.exec(link)?.[0] ?? "0";
}

/** Removes what hosts have left that were killed: this user's folders that name a process which is no more. */
async function sweep(prefix: string): Promise<void> {
  const parent = await realpath(tmpdir());
  const space = await processSpace();
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const [, owner, pid] = /^(\d+)-(\d+)-\w+$/.exec(name.slice(prefix.length)) ?? [];
    if (owner !== space || pid === undefined || isRunning(Number(pid))) continue;
    const folder = path.join(parent, name);
    const stats = await lstat(folder);
    if (stats.isDirectory() && stats.uid === process.getuid?.()) await rm(folder, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
