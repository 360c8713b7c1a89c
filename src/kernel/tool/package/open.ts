import { realpath } from "node:fs/promises";
import path from "node:path";
import type { Connections } from "../../broker/capabilities/fetch/connections.ts";
import type { BuildOptions } from "../build/builds.ts";
import { extract, UNPACKED } from "./extract.ts";
import { fetchArchive } from "./fetch-archive.ts";
import { hashOf, readFileAt } from "./file.ts";
import { findRoot, type PackageLayout, type ProjectForms, readLayout, readRecord } from "./layout.ts";
import { type ArchiveFormat, type PackageLocation, readLocation } from "./location.ts";
import type { ResolvedPackageOptions } from "./options.ts";
import { PackageError, type PackageEvent, Steps } from "./step.ts";

/** The engine's parts that opening a package needs. */
export interface PackageContext {
  readonly options: ResolvedPackageOptions;
  readonly projects: ProjectForms;
  /** Connections for downloads, created on first use. */
  readonly connections: () => Connections;
  /** Receives an event for every step. */
  readonly tell: (event: PackageEvent) => void;
}

/** A package that has been located and its archive read, but not unpacked. */
export interface FoundPackage {
  readonly name: string;
  readonly steps: Steps;
  /** `null` for a folder, which is used in place. */
  readonly archive: { readonly bytes: Buffer; readonly format: ArchiveFormat; readonly sha256: string } | null;
  readonly location: PackageLocation;
}

/** A package in a folder. Disposing of it removes unpacked files; a package that was given as a folder stays. */
export interface ToolPackage extends AsyncDisposable {
  /** Name of the folder or archive, without its archive extension. */
  readonly name: string;
  /** The folder that holds `code/`, without symbolic links. */
  readonly folder: string;
  /** Hash of the archive in hexadecimal; `null` for a folder, which may change. */
  readonly sha256: string | null;
  readonly layout: PackageLayout;
  /** The content of `tool.json`, unchecked; `undefined` if it does not exist. */
  readonly record: unknown;
}

/** Locates a package and reads its archive, if it has one. Rejects with a `GloveboxError` that names the step. */
export async function findPackage(given: string, context: PackageContext): Promise<FoundPackage> {
  const location = await readLocation(given);
  const { name, kind } = location;
  const steps = new Steps(name, context.tell);
  if (kind === "folder") return { name, steps, location, archive: null };
  const bytes = await steps.take("fetch", () => readArchive(location, context));
  const sha256 = await hashOf(bytes);
  return { name, steps, location, archive: { bytes, format: location.format, sha256 } };
}

/**
 * Opens a package: unpacks its archive into a folder of its own, and finds the file to run. Rejects with a
 * `GloveboxError` with `load_error` that names the step in its message and in `details`; then no unpacked file is left.
 */
export async function openPackage(
  given: string | FoundPackage,
  context: PackageContext,
  registrant: BuildOptions["registrant"] = null,
): Promise<ToolPackage> {
  const found = typeof given === "string" ? await findPackage(given, context) : given;
  const { name, steps, archive, location } = found;
  return steps.take("extract", async () => {
    if (location.kind === "folder") {
      const content = await readRoot(await realpath(location.path), context);
      return { name, sha256: null, ...content, [Symbol.asyncDispose]: async () => {} };
    }
    if (archive === null) throw new PackageError("the archive is missing");
    const owned = await extract(archive.bytes, archive.format, context.options.maxBytes, registrant);
    try {
      const content = await readRoot(await findRoot(path.join(owned.path, UNPACKED), context.projects), context);
      return { name, sha256: archive.sha256, ...content, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
    } catch (error) {
      await owned[Symbol.asyncDispose]();
      throw error;
    }
  });
}

async function readRoot(
  folder: string,
  { projects }: PackageContext,
): Promise<Pick<ToolPackage, "folder" | "layout" | "record">> {
  return { folder, layout: await readLayout(folder, projects), record: await readRecord(folder) };
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
