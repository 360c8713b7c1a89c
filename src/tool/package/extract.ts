import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type ArchiveEntry, planExtraction, unpackedMax } from "./entry.ts";
import type { ArchiveFormat } from "./location.ts";

const PREFIX = "glovebox-package-";
/** Modes of unpacked folders and files, whatever the archive says: private to this user and not executable. */
const [FOLDER_MODE, FILE_MODE] = [0o700, 0o600];

/** A temporary folder, removed when it is disposed of. */
export class TemporaryFolder implements AsyncDisposable {
  /** Without symbolic links. */
  readonly path: string;

  private constructor(folder: string) {
    this.path = folder;
  }

  static async create(): Promise<TemporaryFolder> {
    // `mkdtemp` makes a folder that only this user can access.
    return new TemporaryFolder(await mkdtemp(path.join(await realpath(tmpdir()), PREFIX)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Unpacks an archive into a new folder. All names and sizes are checked before the folder is made; if unpacking fails
 * later, the folder is removed. Rejects with a `PackageError`.
 */
export async function extract(bytes: Buffer, format: ArchiveFormat, maxBytes: number): Promise<TemporaryFolder> {
  const max = unpackedMax(bytes.length, maxBytes);
  const plan = planExtraction(await readEntries(bytes, format, maxBytes), max);
  const folder = await TemporaryFolder.create();
  try {
    // The folder is new and no links are made in it, so no path leads out.
    for (const one of plan.folders) await mkdir(path.join(folder.path, one), { mode: FOLDER_MODE });
    for (const { path: file, entry } of plan.files) {
      await writeFile(path.join(folder.path, file), await entry.read(), { flag: "wx", mode: FILE_MODE });
    }
    return folder;
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

/** The archive libraries are loaded on demand, to keep the start of engines fast. */
async function readEntries(bytes: Buffer, format: ArchiveFormat, maxBytes: number): Promise<readonly ArchiveEntry[]> {
  switch (format) {
    case "zip":
      return (await import("./zip.ts")).readZip(bytes);
    case "tar.gz":
      return (await import("./tar.ts")).readTar(bytes, maxBytes);
  }
}
