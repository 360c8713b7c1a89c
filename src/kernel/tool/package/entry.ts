import { PackageError, quoted } from "./step.ts";

/** One entry of an archive, as the archive declares it: hostile input. */
export interface ArchiveEntry {
  readonly name: string;
  readonly isFolder: boolean;
  /** Unpacked size. */
  readonly bytes: number;
  /** Rejects with a `PackageError` if the content differs from the archive's declaration. */
  read(): Promise<Uint8Array>;
}

/** The folders and files to write: paths within a folder, each parent before its content. */
export interface ExtractionPlan {
  readonly folders: readonly string[];
  readonly files: readonly { readonly path: string; readonly entry: ArchiveEntry }[];
}

/** Maximum number of entries of one archive, and of the files and folders that they create. */
export const ENTRIES_MAX = 10_000;
const PATH_MAX = 1_024;
const SEGMENT_BYTES_MAX = 255;
const DEPTH_MAX = 32;
/** Maximum ratio of unpacked to packed size, beyond a free allowance for small archives. */
const RATIO_MAX = 100;
const RATIO_FREE_BYTES = 4 * 1024 * 1024;

/** Maximum unpacked size of an archive, by its packed size. */
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
 * Plans an archive's files. Throws a `PackageError` for a name that leads out of the folder, a name used twice (also in
 * another case or Unicode form), or a total size above `maxBytes`.
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

/** The segments of an entry's name, without the leading `./` that some archivers write. */
function segmentsOf(name: string): readonly string[] {
  if (name.length > PATH_MAX) throw new PackageError(`the entry ${quoted(name)} has a name that is too long`);
  // oxlint-disable-next-line no-control-regex -- no legitimate file has one in its name
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

/** Checks a file path within a package by the rules for archive entries. Throws a `PackageError`. */
export function requirePath(path: string): string {
  return segmentsOf(path).join("/");
}

/** The form in which file systems may compare names: without case, Unicode-normalized. */
function foldedName(path: string): string {
  return path.toUpperCase().toLowerCase().normalize();
}
