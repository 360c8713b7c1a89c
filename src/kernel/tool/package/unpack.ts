import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { UnpackJob } from "../build/job.ts";
import { type ArchiveEntry, planExtraction, unpackedMax } from "./entry.ts";
import type { ArchiveFormat } from "./location.ts";

/** Modes of unpacked folders and files, in place of those in the archive: private to this user and not executable. */
const [FOLDER_MODE, FILE_MODE] = [0o700, 0o600];

/**
 * Unpacks an archive into a new folder, in a build process. All names and sizes are checked before the folder is made.
 * Rejects with a `PackageError`.
 */
export async function unpack({ archive, format, folder, maxBytes }: Omit<UnpackJob, "kind">): Promise<void> {
  const bytes = readFileSync(archive);
  const plan = planExtraction(await readEntries(bytes, format, maxBytes), unpackedMax(bytes.length, maxBytes));
  mkdirSync(folder, { mode: FOLDER_MODE });
  // The folder is new and no links are made in it, so no path leads out.
  for (const one of plan.folders) mkdirSync(path.join(folder, one), { mode: FOLDER_MODE });
  for (const { path: file, entry } of plan.files) {
    writeFileSync(path.join(folder, file), await entry.read(), { flag: "wx", mode: FILE_MODE });
  }
}

/** The archive libraries are loaded on demand: most build processes bundle only. */
async function readEntries(bytes: Buffer, format: ArchiveFormat, maxBytes: number): Promise<readonly ArchiveEntry[]> {
  switch (format) {
    case "zip":
      return (await import("./zip.ts")).readZip(bytes);
    case "tar.gz":
      return (await import("./tar.ts")).readTar(bytes, maxBytes);
  }
}
