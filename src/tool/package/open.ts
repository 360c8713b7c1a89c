import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import path from "node:path";
import type { Connections } from "../../broker/capabilities/fetch/connections.ts";
import { extract } from "./extract.ts";
import { fetchArchive } from "./fetch-archive.ts";
import { readFileAt } from "./file.ts";
import { findRoot, type PackageLayout, readLayout, readRecord } from "./layout.ts";
import { type ArchiveFormat, type PackageLocation, readLocation } from "./location.ts";
import type { ResolvedPackageOptions } from "./options.ts";
import { PackageError, type PackageEvent, Steps } from "./step.ts";

/** What opening packages needs of the engine. */
export interface PackageContext {
  readonly options: ResolvedPackageOptions;
  /** How archives are fetched: only to be asked for where one is. */
  readonly connections: () => Connections;
  /** Hears of every step. */
  readonly tell: (event: PackageEvent) => void;
}

/** A package that has been found, and its archive read, but not unpacked. */
export interface FoundPackage {
  readonly name: string;
  readonly steps: Steps;
  /** `null` for a folder, which is used in place. */
  readonly archive: { readonly bytes: Buffer; readonly format: ArchiveFormat; readonly sha256: string } | null;
  readonly location: PackageLocation;
}

/** A package that lies in a folder. Disposing of it takes away what was unpacked for it; a folder stays as it is. */
export interface ToolPackage extends AsyncDisposable {
  /** The folder's or the archive's, without what says how it is packed. */
  readonly name: string;
  /** The folder that holds `code/`, without symbolic links. */
  readonly folder: string;
  /** Of the archive, in hexadecimal; `null` for a folder, which may change. */
  readonly sha256: string | null;
  readonly layout: PackageLayout;
  /** What `tool.json` says, unchecked; `undefined` where there is none. */
  readonly record: unknown;
}

/** Finds a package and reads its archive, if it is one. Rejects with a `GloveboxError` that names the step. */
export async function findPackage(given: string, context: PackageContext): Promise<FoundPackage> {
  const location = await readLocation(given);
  const { name, kind } = location;
  const steps = new Steps(name, context.tell);
  if (kind === "folder") return { name, steps, location, archive: null };
  const bytes = await steps.take("fetch", () => readArchive(location, context));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { name, steps, location, archive: { bytes, format: location.format, sha256 } };
}

/**
 * Opens a package: unpacks its archive into a folder of its own, and finds what it has to run. Rejects with a `GloveboxError` with `load_error` that names the step, in text and in `details`; then nothing is left.
 */
export async function openPackage(given: string | FoundPackage, context: PackageContext): Promise<ToolPackage> {
  const found = typeof given === "string" ? await findPackage(given, context) : given;
  const { name, steps, archive, location } = found;
  return steps.take("extract", async () => {
    if (location.kind === "folder") {
      const content = await readRoot(await realpath(location.path));
      return { name, sha256: null, ...content, [Symbol.asyncDispose]: async () => {} };
    }
    if (archive === null) throw new PackageError("the archive is missing");
    const owned = await extract(archive.bytes, archive.format, context.options.maxBytes);
    try {
      const content = await readRoot(await findRoot(owned.path));
      return { name, sha256: archive.sha256, ...content, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
    } catch (error) {
      await owned[Symbol.asyncDispose]();
      throw error;
    }
  });
}

async function readRoot(folder: string): Promise<Pick<ToolPackage, "folder" | "layout" | "record">> {
  return { folder, layout: await readLayout(folder), record: await readRecord(folder) };
}

async function readArchive(
  location: Exclude<PackageLocation, { kind: "folder" }>,
  { options, connections }: PackageContext,
): Promise<Buffer> {
  if (location.kind === "url") return fetchArchive(location.url, options, connections());
  const bytes = await readFileAt(location.path, path.basename(location.path), options.maxBytes, true);
  if (bytes === undefined) throw new PackageError("it was removed while it was read");
  return bytes;
}
