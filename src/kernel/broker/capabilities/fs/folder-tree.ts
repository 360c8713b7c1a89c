import type { Dirent } from "node:fs";
import { opendir, rmdir, unlink } from "node:fs/promises";
import { child, type HeldFile } from "./file-holder.ts";
import { codeOf, SystemError } from "./system-error.ts";
import { kindOf, type FileKind, type FsOperation } from "./operation.ts";

/** Entry of a listing: its name, or its path in a recursive listing, and its kind. */
export type FolderEntry = readonly [name: string, kind: FileKind];

/** Walks a folder recursively. Never follows links, and stops at the limits. */
export class FolderTree {
  readonly #operation: FsOperation;
  readonly #path: string;
  #seen = 0;

  constructor(operation: FsOperation, path: string) {
    this.#operation = operation;
    this.#path = path;
  }

  /** Entries of a held folder, and of the folders below if `recursive`. */
  async list(folder: HeldFile, recursive: boolean, prefix = "", depth = 0): Promise<FolderEntry[]> {
    const entries: FolderEntry[] = [];
    for (const { name, kind } of await this.#read(folder, depth)) {
      entries.push([`${prefix}${name}`, kind]);
      if (!recursive || kind !== "folder") continue;
      await using below = await this.#holdFolder(folder, name);
      if (below !== null) entries.push(...(await this.list(below, true, `${prefix}${name}/`, depth + 1)));
    }
    return entries;
  }

  /** Removes a held folder and its content. */
  async remove(parent: HeldFile, name: string, folder: HeldFile, depth = 0): Promise<void> {
    for (const entry of await this.#read(folder, depth)) {
      await using below = entry.kind === "folder" ? await this.#holdFolder(folder, entry.name) : null;
      if (below !== null) await this.remove(folder, entry.name, below, depth + 1);
      else await ignoringAbsence(unlink(child(folder, entry.name)));
    }
    await ignoringAbsence(rmdir(child(parent, name)));
  }

  /** Reads all entries of one folder before any is processed. */
  async #read(folder: HeldFile, depth: number): Promise<{ readonly name: string; readonly kind: FileKind }[]> {
    const { limits, signal } = this.#operation.call;
    if (depth > limits.depth) throw this.#beyond(`folders ${limits.depth} deep`);
    const found: { readonly name: string; readonly kind: FileKind }[] = [];
    for await (const entry of (await opendir(folder.path)) as AsyncIterable<Dirent>) {
      signal.throwIfAborted();
      if (++this.#seen > limits.entries) throw this.#beyond(`${limits.entries} entries`);
      found.push({ name: entry.name, kind: kindOf(entry) });
    }
    return found;
  }

  /** Holds a folder; `null` if the name is no longer a folder. */
  async #holdFolder(folder: HeldFile, name: string): Promise<HeldFile | null> {
    try {
      const held = await this.#operation.call.holder.hold(child(folder, name));
      if (held.stats.isDirectory()) return held;
      await held[Symbol.asyncDispose]();
      return null;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    }
  }

  #beyond(granted: string): Error {
    return this.#operation.refuse.beyond(this.#path, `${granted} in one operation`, "process one folder at a time");
  }
}

/** Ignores `ENOENT`: another process may have removed the entry, which has the same result. */
async function ignoringAbsence(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return;
    throw code === null ? error : new SystemError(code);
  }
}
