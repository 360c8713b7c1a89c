import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type ArchiveEntry, planExtraction, unpackedMax } from "./entry.ts";
import type { ArchiveFormat } from "./location.ts";

const PREFIX = "glovebox-package-";
/** Whatever an archive says: nobody else's, and nothing to be started. */
const [FOLDER_MODE, FILE_MODE] = [0o700, 0o600];

/** A folder that is gone when it is disposed of. */
export class TemporaryFolder implements AsyncDisposable {
  /** Without symbolic links. */
  readonly path: string;

  private constructor(folder: string) {
    this.path = folder;
  }

  static async create(): Promise<TemporaryFolder> {
    // It is made for this user alone.
    return new TemporaryFolder(await mkdtemp(path.join(await realpath(tmpdir()), PREFIX)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Unpacks an archive into a new folder. Everything about its names and sizes is judged before there is a folder at all;
 * where something turns out to be wrong later, the folder goes. Rejects with a `PackageError`.
 */
export async function extract(bytes: Buffer, format: ArchiveFormat, maxBytes: number): Promise<TemporaryFolder> {
  const max = unpackedMax(bytes.length, maxBytes);
  const plan = planExtraction(await readEntries(bytes, format, maxBytes), max);
  const folder = await TemporaryFolder.create();
  try {
    // Nothing but what is made here is in the folder, and no links are made: so no path leads out.
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

/** Whoever starts an engine need not wait for libraries that only archives need, so they are loaded here. */
async function readEntries(bytes: Buffer, format: ArchiveFormat, maxBytes: number): Promise<readonly ArchiveEntry[]> {
  switch (format) {
    case "zip":
      return (await import("./zip.ts")).readZip(bytes);
    case "tar.gz":
      return (await import("./tar.ts")).readTar(bytes, maxBytes);
  }
}
