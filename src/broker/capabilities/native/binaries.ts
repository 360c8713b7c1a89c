import { chmod, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { GloveboxError } from "../../../base/errors.ts";
import { TemporaryFolders } from "../temporary.ts";
import { NATIVE_LIMITS } from "./limits.ts";

/** The engine's user alone may read and start it; inside, it is that user who runs it. */
const FILE_MODE = 0o500;

/** A binary's file, which stays where it is until this is disposed of. */
export interface HeldBinary extends Disposable {
  readonly path: string;
}

interface Kept {
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
  readonly #kept = new Map<string, Kept>();
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
      throw new GloveboxError("load_error", `the binary could not be kept (${code})`, { runtime: "native" });
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
    if (kept?.path === null || kept === undefined) throw new Error("the binary is not there any more");
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

  #add(hash: string, content: Uint8Array): Kept {
    const bytes = [...this.#kept.values()].reduce((sum, each) => sum + each.bytes, content.length);
    const { kept: most, keptBytes } = NATIVE_LIMITS;
    if (this.#kept.size >= most || bytes > keptBytes) {
      const limits = `${most} of them with ${keptBytes} bytes together`;
      throw new GloveboxError("load_error", `the binaries of all tools are too much: there is room for ${limits}`);
    }
    const kept: Kept = { bytes: content.length, written: this.#write(hash, content), path: null, users: 0 };
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
