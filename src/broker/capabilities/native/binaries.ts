import { chmod, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { GloveboxError } from "../../../base/errors.ts";
import { TemporaryFolders } from "../temporary.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** How much one run of a binary, and all of them, may do beside what the call's own limits say. */
interface NativeLimits {
  /** Longest argument that Linux takes, in bytes, without the one that ends it. */
  readonly argumentBytes: number;
  /** Of stdout, and of stderr, is kept so much. */
  readonly saidBytes: number;
  /** What a binary may write to both before it is ended. */
  readonly drainedBytes: number;
  /** Threads of a binary: it has one process. */
  readonly threads: number;
  readonly openFiles: number;
  /** What its folder holds, in bytes, and in files and folders. */
  readonly folderBytes: number;
  readonly folderEntries: number;
  /** Memory that it may have set aside beyond `memoryMb`, without using it. */
  readonly spareBytes: number;
  /** Addresses: what it can take of what it has in common with nobody else before anybody looks. */
  readonly addressBytes: number;
  /** Runs of all calls at once; more wait. */
  readonly atOnce: number;
  /** Files of an engine's binaries together, and how many. */
  readonly keptBytes: number;
  readonly kept: number;
}

export const NATIVE_LIMITS: NativeLimits = Object.freeze({
  argumentBytes: 128 * KIB - 1,
  saidBytes: 64 * KIB,
  drainedBytes: 16 * MIB,
  threads: 64,
  openFiles: 256,
  folderBytes: 64 * MIB,
  folderEntries: 10_000,
  spareBytes: 256 * MIB,
  addressBytes: 8_192 * MIB,
  atOnce: 8,
  keptBytes: 1_024 * MIB,
  kept: 1_000,
});

/** The engine's user alone may read and start it; inside, it is that user who runs it. */
const FILE_MODE = 0o500;

/** A binary's file, which stays where it is until this is disposed of. */
export interface HeldBinary extends Disposable {
  readonly path: string;
}

interface StoredBinary {
  readonly bytes: number;
  /** Resolves when the file is there. */
  readonly written: Promise<string>;
  path: string | null;
  /** Scripts of registered tools, and runs. */
  users: number;
}

/** The files of an engine's binaries, each once, in a folder of the engine's own: packages and archives are gone by then. */
export class Binaries {
  /** By the hashes of their contents. */
  readonly #kept = new Map<string, StoredBinary>();
  /** The hash by the key of the script that is for it. */
  readonly #scripts = new Map<string, string>();
  readonly #removing = new Set<Promise<void>>();
  readonly #folders = new TemporaryFolders("native");
  #folder: Promise<string> | null = null;
  #isClosed = false;

  /** Keeps the file that a script is for. Rejects with a `GloveboxError` where there are too many. */
  async keep(key: string, hash: string, content: Uint8Array): Promise<void> {
    if (this.#isClosed) throw new GloveboxError("engine_closed", "the engine takes no more tools");
    const kept = this.#kept.get(hash) ?? this.#add(hash, content);
    kept.users++;
    this.#scripts.set(key, hash);
    try {
      kept.path = await kept.written;
    } catch (error) {
      this.forget(key);
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      throw new GloveboxError("load_error", `the binary could not be stored (${code})`, { runtime: "native" });
    }
  }

  /** A script is not needed any more; nothing happens where it has no file. */
  forget(key: string): void {
    const hash = this.#scripts.get(key);
    if (hash === undefined) return;
    this.#scripts.delete(key);
    this.#release(hash);
  }

  /** The file for a run. Throws where no tool has it. */
  hold(hash: string): HeldBinary {
    const kept = this.#kept.get(hash);
    if (kept?.path === null || kept === undefined) throw new Error("the binary was removed");
    kept.users++;
    return { path: kept.path, [Symbol.dispose]: () => this.#release(hash) };
  }

  /** Removes all files. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#kept.clear();
    this.#scripts.clear();
    await Promise.allSettled(this.#removing);
    const folder = await this.#folder?.catch(() => null);
    if (typeof folder === "string") await this.#folders.remove(folder);
    await this.#folders.close();
  }

  #add(hash: string, content: Uint8Array): StoredBinary {
    const bytes = [...this.#kept.values()].reduce((sum, each) => sum + each.bytes, content.length);
    const { kept: most, keptBytes } = NATIVE_LIMITS;
    if (this.#kept.size >= most || bytes > keptBytes) {
      const limits = `at most ${most} binaries with ${keptBytes} bytes in total`;
      throw new GloveboxError("load_error", `the binaries of all tools exceed a limit: ${limits}`);
    }
    const kept: StoredBinary = { bytes: content.length, written: this.#write(hash, content), path: null, users: 0 };
    kept.written.catch(() => undefined);
    this.#kept.set(hash, kept);
    return kept;
  }

  async #write(hash: string, content: Uint8Array): Promise<string> {
    // One that is registered again while its old file goes: that is gone first.
    await Promise.allSettled(this.#removing);
    this.#folder ??= this.#folders.make();
    const file = path.join(await this.#folder, hash);
    try {
      await writeFile(file, content, { flag: "wx", mode: FILE_MODE });
      // Whatever the process's mask takes away: archives have no bit that makes a file executable.
      await chmod(file, FILE_MODE);
      return file;
    } catch (error) {
      // Half of a file would be in the way of who tries again when there is room.
      await rm(file, { force: true });
      throw error;
    }
  }

  #release(hash: string): void {
    const kept = this.#kept.get(hash);
    if (kept === undefined || --kept.users > 0) return;
    this.#kept.delete(hash);
    const removing = kept.written
      .then((file) => rm(file, { force: true }))
      .catch(() => undefined)
      .then(() => void this.#removing.delete(removing));
    this.#removing.add(removing);
  }
}
