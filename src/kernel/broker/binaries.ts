import { chmod, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { errnoOf } from "../base/errno.ts";
import { GloveboxError } from "../base/errors.ts";
import { TemporaryFolders } from "./capabilities/temporary.ts";

/** Maximum total size of the files of an engine's binaries, in bytes, and their maximum number. */
const KEPT_BYTES_MAX = 1_024 * 1024 * 1024;
export const KEPT_MAX = 1_000;

/** Only the engine's user may read and execute the file; the binary runs as that user. */
const FILE_MODE = 0o500;

/** A binary's file, which exists at least until this is disposed. */
export interface HeldBinary extends Disposable {
  readonly path: string;
}

/** Files of binaries as runs need them. */
export interface BinaryFiles {
  /** Hash of a script's binary; `undefined` for a script without one. */
  hashOf(key: string): string | undefined;
  /** Throws if there is no such binary any more. */
  hold(file: string): HeldBinary;
  close(): Promise<void>;
}

interface StoredBinary {
  readonly bytes: number;
  /** Resolves with the path when the file has been written. */
  readonly written: Promise<string>;
  path: string | null;
  /** Number of scripts of registered tools, and of runs, that use the file. */
  users: number;
}

/**
 * Files of an engine's binaries, each once, in a folder of the engine's own: packages and archives may have been
 * removed.
 */
export class Binaries implements BinaryFiles {
  /** Binaries by the hash of their content. */
  readonly #kept = new Map<string, StoredBinary>();
  /** Hash of a binary by the key of its script. */
  readonly #scripts = new Map<string, string>();
  readonly #removing = new Set<Promise<void>>();
  readonly #folders = new TemporaryFolders("native");
  #folder: Promise<string> | null = null;
  #isClosed = false;

  /** Stores the file of a script's binary. Rejects with a `GloveboxError` if a limit is exceeded. */
  async keep(key: string, hash: string, content: Uint8Array): Promise<void> {
    if (this.#isClosed) throw new GloveboxError("engine_closed", "the engine takes no more tools");
    const kept = this.#kept.get(hash) ?? this.#add(hash, content);
    kept.users++;
    this.#scripts.set(key, hash);
    try {
      kept.path = await kept.written;
    } catch (error) {
      this.forget(key);
      const code = errnoOf(error) ?? "";
      throw new GloveboxError("load_error", `the binary could not be stored (${code})`, { runtime: "native" });
    }
  }

  /** Releases the file of a script that is no longer needed. Does nothing if the script has no file. */
  forget(key: string): void {
    const hash = this.#scripts.get(key);
    if (hash === undefined) return;
    this.#scripts.delete(key);
    this.#release(hash);
  }

  hashOf(key: string): string | undefined {
    return this.#scripts.get(key);
  }

  /** Holds the file for a run. Throws if no tool has the binary any more. */
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
    if (this.#kept.size >= KEPT_MAX || bytes > KEPT_BYTES_MAX) {
      const limits = `at most ${KEPT_MAX} binaries with ${KEPT_BYTES_MAX} bytes in total`;
      throw new GloveboxError("load_error", `the binaries of all tools exceed a limit: ${limits}`);
    }
    const kept: StoredBinary = { bytes: content.length, written: this.#write(hash, content), path: null, users: 0 };
    kept.written.catch(() => undefined);
    this.#kept.set(hash, kept);
    return kept;
  }

  async #write(hash: string, content: Uint8Array): Promise<string> {
    // A binary may be registered again while its old file is being removed: wait for the removal first.
    await Promise.allSettled(this.#removing);
    this.#folder ??= this.#folders.make();
    const file = path.join(await this.#folder, hash);
    try {
      await writeFile(file, content, { flag: "wx", mode: FILE_MODE });
      // Set the mode regardless of the process's umask; files from archives are not executable.
      await chmod(file, FILE_MODE);
      return file;
    } catch (error) {
      // A partial file would make the next attempt fail.
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
