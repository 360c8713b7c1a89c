import { errnoOf } from "../../base/errno.ts";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { unpackTar } from "modern-tar";
import { inTime } from "../../base/deadline.ts";
import { type ArchiveEntry, ENTRIES_MAX, tooMany, tooMuch, unpackedMax } from "./entry.ts";
import { PackageError, quoted } from "./step.ts";

const BLOCK = 512;
const SIZE_BYTES = 4;
const META_BYTES_MAX = 64 * 1024;
const DEADLINE_MS = 30_000;
/** Supported entry types; all others are refused. */
const [FILES, FOLDER, META] = ["0\0", "5", "xgL"];
const WORDS: ReadonlyMap<string, string> = new Map([
  ["1", "a hard link"],
  ["2", "a symbolic link"],
  ["3", "a device"],
  ["4", "a device"],
  ["6", "a pipe"],
  ["K", "a link with a long name"],
  ["S", "a sparse file"],
]);
/**
 * Attributes that would make the library find the next header elsewhere than `checkHeaders` does, or use another name
 * than messages show.
 */
const REFUSED_ATTRIBUTE = /^(?:size|linkpath|hdrcharset|GNU\.sparse\..*)$/;

const unzip = promisify(gunzip);

/**
 * The entries of a gzipped tar archive. Rejects with a `PackageError` if one is not a file or folder, or if the archive
 * is damaged, truncated or has data after its end.
 */
export async function readTar(packed: Buffer, maxBytes: number): Promise<readonly ArchiveEntry[]> {
  const tar = await unzipped(packed, unpackedMax(packed.length, maxBytes));
  checkHeaders(tar);
  // The library waits forever for missing bytes.
  const unpacked = inTime(DEADLINE_MS, unpackTar(tar, { strict: true }), () => new Error("it took too long"));
  const entries = await unpacked.catch((error: unknown) => {
    const problem = error instanceof Error ? quoted(error.message) : "unknown";
    throw new PackageError(`the archive cannot be read: ${problem}`);
  });
  return entries.map(({ header, data = new Uint8Array() }) => {
    const attribute = Object.keys(header.pax ?? {}).find((name) => REFUSED_ATTRIBUTE.test(name));
    if (attribute !== undefined) {
      throw new PackageError(
        `the entry ${quoted(header.name)} has the attribute ${quoted(attribute)}, which is not read`,
      );
    }
    const isFolder = header.type === "directory";
    return { name: header.name, isFolder, bytes: data.length, read: () => Promise.resolve(data) };
  });
}

async function unzipped(packed: Buffer, max: number): Promise<Buffer> {
  const tar = await unzip(packed, { maxOutputLength: max }).catch((error: unknown) => {
    if (errnoOf(error) === "ERR_BUFFER_TOO_LARGE") throw tooMuch(max);
    throw new PackageError("the archive is not a gzip file, or is damaged or truncated");
  });
  // A gzip file ends with its unpacked length: if that equals all that was unpacked, there is no second member and no
  // trailing data.
  if (packed.readUInt32LE(packed.length - SIZE_BYTES) !== tar.length) {
    throw new PackageError("the archive has data after its gzip stream");
  }
  return tar;
}

/**
 * Checks every header before the library does, which silently treats entries of unknown types as files. The library
 * checks checksums, names and attributes.
 */
function checkHeaders(tar: Buffer): void {
  let entries = 0;
  for (let at = 0; ;) {
    const header = tar.subarray(at, at + BLOCK);
    if (header.length < BLOCK) throw new PackageError("the archive is truncated");
    if (header.every((byte) => byte === 0)) return;
    if (++entries > ENTRIES_MAX) throw tooMany();
    const name = header.toString("utf8", 0, 100).replace(/\0.*$/s, "");
    const type = header.toString("latin1", 156, 157);
    const isKnown = `${FILES}${FOLDER}${META}`.includes(type);
    const wrong = (problem: string): PackageError => new PackageError(`the entry ${quoted(name)} ${problem}`);
    if (name === "") throw wrong("has no name");
    if (!isKnown) throw wrong(`is ${WORDS.get(type) ?? `of the type ${quoted(type)}`}, and no file`);
    const octal = /^ *([0-7]{1,11})[ \0]*$/.exec(header.toString("latin1", 124, 136))?.[1];
    if (octal === undefined) throw wrong("does not say how long it is");
    const size = Number.parseInt(octal, 8);
    if (type === FOLDER && size !== 0) throw wrong("is a folder with content");
    if (META.includes(type) && size > META_BYTES_MAX) throw wrong("has too long attributes");
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
