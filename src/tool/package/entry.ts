import { PackageError, quoted } from "./step.ts";

/** What an archive holds, as it says itself: hostile input. */
export interface ArchiveEntry {
  readonly name: string;
  readonly isFolder: boolean;
  /** Unpacked. */
  readonly bytes: number;
  /** Rejects with a `PackageError` where it is not what the archive says of it. */
  read(): Promise<Uint8Array>;
}

/** What is to be written where: paths within a folder, each parent before what it holds. */
export interface ExtractionPlan {
  readonly folders: readonly string[];
  readonly files: readonly { readonly path: string; readonly entry: ArchiveEntry }[];
}

/** Entries of one archive, and files and folders that they stand for. */
export const ENTRIES_MAX = 10_000;
const PATH_MAX = 1_024;
const SEGMENT_BYTES_MAX = 255;
const DEPTH_MAX = 32;
/** So many times its own size an archive may hold, and a little more, for those that are small. */
const RATIO_MAX = 100;
const RATIO_FREE_BYTES = 4 * 1024 * 1024;

/** What an archive of some size may weigh when it is unpacked. */
export function unpackedMax(packedBytes: number, maxBytes: number): number {
  return Math.min(maxBytes, RATIO_FREE_BYTES + RATIO_MAX * packedBytes);
}

export function tooMuch(max: number): PackageError {
  return new PackageError(
    `the archive holds more than ${max} bytes when it is unpacked, which is too much for its size`,
  );
}

export function tooMany(): PackageError {
  return new PackageError(`the archive has more than ${ENTRIES_MAX} entries`);
}

/**
 * Where an archive's files go. Throws a `PackageError` where a name leads out, is taken twice, also by case or by another
 * way to write the same letters, or where all of them are more than `maxBytes`.
 */
export function planExtraction(entries: readonly ArchiveEntry[], maxBytes: number): ExtractionPlan {
  if (entries.length > ENTRIES_MAX) throw tooMany();
  let bytes = 0;
  for (const entry of entries) bytes += entry.bytes;
  if (!(bytes <= maxBytes)) throw tooMuch(maxBytes);
  const taken = new Map<string, { readonly path: string; readonly isFolder: boolean; isListed: boolean }>();
  const folders: string[] = [];
  const files: { path: string; entry: ArchiveEntry }[] = [];
  const take = (path: string, isFolder: boolean, isListed: boolean): void => {
    const key = foldedName(path);
    const known = taken.get(key);
    if (known === undefined) {
      taken.set(key, { path, isFolder, isListed });
      if (taken.size > ENTRIES_MAX) throw tooMany();
      if (isFolder) folders.push(path);
      return;
    }
    if (known.path !== path || (known.isListed && isListed)) {
      throw new PackageError(`the archive has two entries for ${quoted(path)}, one as ${quoted(known.path)}`);
    }
    if (!known.isFolder || !isFolder) {
      throw new PackageError(`the archive has ${quoted(path)} both as a file and as a folder`);
    }
    known.isListed ||= isListed;
  };
  for (const entry of entries) {
    const segments = segmentsOf(entry.name);
    if (segments.length === 0 && entry.isFolder) continue;
    for (let depth = 1; depth < segments.length; depth++) take(segments.slice(0, depth).join("/"), true, false);
    const path = segments.join("/");
    if (path === "") throw new PackageError("the archive has an entry without a name");
    take(path, entry.isFolder, true);
    if (!entry.isFolder) files.push({ path, entry });
  }
  return { folders, files };
}

/** The parts of an entry's name, without the dot that some archivers begin all names with. */
function segmentsOf(name: string): readonly string[] {
  if (name.length > PATH_MAX) throw new PackageError(`the entry ${quoted(name)} has a name that is too long`);
  // oxlint-disable-next-line no-control-regex -- no file that anybody wants has one in its name
  if (/[\0-\x1f\x7f\\\ufffd]/.test(name)) {
    throw new PackageError(`the entry ${quoted(name)} has a name with a control or reserved character`);
  }
  if (name.startsWith("/") || /^[a-z]:/i.test(name)) {
    throw new PackageError(`the entry ${quoted(name)} has an absolute path`);
  }
  const parts = name
    .replace(/^(?:\.\/)+/, "")
    .replace(/\/$/, "")
    .split("/");
  const segments = parts.length === 1 && (parts[0] === "" || parts[0] === ".") ? [] : parts;
  if (segments.includes("..")) throw new PackageError(`the entry ${quoted(name)} leads out of the package`);
  if (segments.length > DEPTH_MAX) throw new PackageError(`the entry ${quoted(name)} is nested too deeply`);
  for (const segment of segments) {
    if (segment === "" || segment === "." || Buffer.byteLength(segment) > SEGMENT_BYTES_MAX) {
      throw new PackageError(`the entry ${quoted(name)} has an invalid path`);
    }
  }
  return segments;
}

/** A path of a file within a package, as an entry of an archive may have it. Throws a `PackageError` for any other. */
export function requirePath(path: string): string {
  return segmentsOf(path).join("/");
}

/** What file systems may take for the same name. */
function foldedName(path: string): string {
  return path.toUpperCase().toLowerCase().normalize();
}
