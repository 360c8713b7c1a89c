import { errnoOf } from "../../base/errno.ts";
import { lstat, mkdtemp, readdir, readlink, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** Temporary folders of this process. */
export class TemporaryFolders {
  readonly #prefix: string;
  #swept: Promise<void> | null = null;

  /** `kind`: purpose of the folders, in lower-case letters. */
  constructor(kind: string) {
    this.#prefix = `glovebox-${kind}-`;
  }

  /** Creates an empty folder that only this user may enter. */
  async make(): Promise<string> {
    this.#swept ??= sweep(this.#prefix).catch(() => undefined);
    const parent = await realpath(tmpdir());
    return mkdtemp(path.join(parent, `${this.#prefix}${await processSpace()}-${process.pid}-`));
  }

  async remove(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Resolves when the removal of other processes' leftovers has ended. */
  async close(): Promise<void> {
    await this.#swept;
  }
}

/**
 * Id of the PID namespace: pid 17 of one container is not that of another, though both may share a folder for temporary
 * files.
 */
async function processSpace(): Promise<string> {
  const link = await readlink("/proc/self/ns/pid").catch(() => "");
  return /\d+/.exec(link)?.[0] ?? "0";
}

/** Removes leftovers of hosts that were killed: this user's folders whose names hold the pid of an ended process. */
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
    return errnoOf(error) !== "ESRCH";
  }
}
