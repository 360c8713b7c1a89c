import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import path from "node:path";
import type { Connections } from "../capabilities/fetch/connections.ts";
import { type Dependencies, readDependencies } from "./dependencies.ts";
import { extract, type TemporaryFolder } from "./extract.ts";
import { fetchArchive } from "./fetch-archive.ts";
import { readFileAt } from "./file.ts";
import { findRoot, type PackageLayout, readLayout, readRecord } from "./layout.ts";
import { type ArchiveFormat, type PackageLocation, readLocation } from "./location.ts";
import type { ResolvedPackageOptions } from "./options.ts";
import { PackageError, type PackageStep, Steps } from "./step.ts";

/** What opening packages needs of the engine. */
export interface PackageContext {
  readonly options: ResolvedPackageOptions;
  /** How archives are fetched: only to be asked for where one is. */
  readonly connections: () => Connections;
}

/** A package that has been found, and its archive read, but not unpacked. */
export interface FoundPackage {
  readonly name: string;
  readonly steps: Steps;
  /** `null` for a folder, which is used in place. */
  readonly archive: { readonly bytes: Buffer; readonly format: ArchiveFormat; readonly sha256: string } | null;
  readonly location: PackageLocation;
}

/** A package that is ready to be bundled. Disposing of it takes away what was unpacked for it; a folder stays as it is. */
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
  readonly dependencies: Dependencies;
  readonly steps: readonly PackageStep[];
}

/** Finds a package and reads its archive, if it is one. Rejects with a `GloveboxError` that names the step. */
export async function findPackage(given: string, context: PackageContext): Promise<FoundPackage> {
  const location = await readLocation(given);
  const { name, kind } = location;
  const steps = new Steps(name);
  if (kind === "folder") return { name, steps, location, archive: null };
  const bytes = await steps.take("fetch", () => readArchive(location, context));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { name, steps, location, archive: { bytes, format: location.format, sha256 } };
}

/**
 * Opens a package: unpacks its archive into a folder of its own, finds what it has to run, and checks what it depends on.
 * Rejects with a `GloveboxError` with `load_error` that names the step, in text and in `details`; then nothing is left.
 */
export async function openPackage(given: string | FoundPackage, context: PackageContext): Promise<ToolPackage> {
  const found = typeof given === "string" ? await findPackage(given, context) : given;
  const { name, steps, archive, location } = found;
  const { options } = context;
  const opened = await steps.take("extract", async () => {
    if (location.kind === "folder") return { folder: await readRoot(await realpath(location.path)), owned: null };
    if (archive === null) throw new PackageError("there is no archive");
    const owned = await extract(archive.bytes, archive.format, options.maxBytes);
    return keeping(owned, async () => ({ folder: await readRoot(await findRoot(owned.path)), owned }));
  });
  const {
    owned,
    folder: { root, layout, record },
  } = opened;
  const check = (): Promise<Dependencies> => steps.take("install", () => readDependencies(root, options));
  const dependencies = await keeping(owned, check);
  return {
    name,
    folder: root,
    sha256: archive?.sha256 ?? null,
    layout,
    record,
    dependencies,
    steps: steps.taken,
    [Symbol.asyncDispose]: async () => owned?.[Symbol.asyncDispose](),
  };
}

async function readRoot(
  root: string,
): Promise<{ readonly root: string; readonly layout: PackageLayout; readonly record: unknown }> {
  return { root, layout: await readLayout(root), record: await readRecord(root) };
}

/** Does some work with a folder; where it fails, the folder goes. */
async function keeping<Value>(folder: TemporaryFolder | null, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    await folder?.[Symbol.asyncDispose]();
    throw error;
  }
}

async function readArchive(
  location: Exclude<PackageLocation, { kind: "folder" }>,
  { options, connections }: PackageContext,
): Promise<Buffer> {
  if (location.kind === "url") return fetchArchive(location.url, options, connections());
  const bytes = await readFileAt(location.path, path.basename(location.path), options.maxBytes, true);
  if (bytes === undefined) throw new PackageError("it does not exist any more");
  return bytes;
}
