import { mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { BuildOptions } from "../build/builds.ts";
import type { JobWords } from "../build/problem.ts";
import { writablePrefix } from "../build/limits.ts";
import type { ArchiveFormat } from "./location.ts";
import { runPackageJob } from "./package-job.ts";

/** The folder within a temporary folder that holds an archive's files. */
export const UNPACKED = "unpacked";
const WORDS: JobWords = { verb: "unpack", participle: "unpacked", remedy: "make it smaller" };

/** A temporary folder, removed when it is disposed of. */
class TemporaryFolder implements AsyncDisposable {
  /** Without symbolic links. */
  readonly path: string;

  readonly #registrant: BuildOptions["registrant"];

  private constructor(folder: string, registrant: BuildOptions["registrant"]) {
    this.path = folder;
    this.#registrant = registrant;
  }

  static async create(registrant: BuildOptions["registrant"]): Promise<TemporaryFolder> {
    // `mkdtemp` makes a folder that only this user can access.
    return new TemporaryFolder(await mkdtemp(writablePrefix()), registrant);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Here, ten thousand files would block the event loop; the rest of an ended process is removed here.
    await runPackageJob({ kind: "remove", folder: this.path }, WORDS, this.#registrant).catch(() => undefined);
    await rm(this.path, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Unpacks an archive in a build process, into the folder `UNPACKED` of a new one; if that fails, the folder is removed.
 * Rejects with a `PackageError`. `registrant`: see `BuildOptions`.
 */
export async function extract(
  bytes: Buffer,
  format: ArchiveFormat,
  maxBytes: number,
  registrant: BuildOptions["registrant"],
): Promise<TemporaryFolder> {
  const owned = await TemporaryFolder.create(registrant);
  try {
    const archive = path.join(owned.path, "archive");
    await writeFile(archive, bytes, { flag: "wx", mode: 0o600 });
    const folder = path.join(owned.path, UNPACKED);
    await runPackageJob({ kind: "unpack", archive, format, folder, maxBytes }, WORDS, registrant);
    return owned;
  } catch (error) {
    await owned[Symbol.asyncDispose]();
    throw error;
  }
}
