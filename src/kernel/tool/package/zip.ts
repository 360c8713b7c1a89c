import { promisify } from "node:util";
import { crc32, inflateRaw, type InputType, type ZlibOptions } from "node:zlib";
import { type Entry, fromBufferPromise, getFileNameLowLevel, type LocalFileHeader, type ZipFile } from "yauzl";
import { type ArchiveEntry, ENTRIES_MAX, tooMany } from "./entry.ts";
import { PackageError, quoted } from "./step.ts";

const END_BYTES = 22;
const LOCATOR_BYTES = 20;
const WIDE_END_BYTES = 56;
const LOCATOR_SIGNATURE = 0x07064b50;
/** Placeholder for a number in the ZIP64 field. */
const [NARROW_16, NARROW_32] = [0xffff, 0xffffffff];
const ENTRY_BYTES = 46;
const [STORED, DEFLATED] = [0, 8];
/**
 * Known flags: compression level, sizes after the data, UTF-8 names. Every other flag changes the meaning of the data.
 */
const FLAGS_KNOWN = 0x080e;
const FLAG_DESCRIPTOR = 0x0008;
const FLAG_UTF8 = 0x0800;
const DESCRIPTOR_SIZES: readonly number[] = [0, 12, 16, 20, 24];
const [MODE_TYPE, MODE_FILE, MODE_FOLDER] = [0o170000, 0o100000, 0o040000];

/** Byte range of an entry in the archive. */
interface Extent {
  readonly start: number;
  readonly end: number;
  readonly hasDescriptor: boolean;
}

/**
 * The entries of a zip archive, read as strictly as possible: the central directory must match each local header, and
 * every byte must belong to an entry, so that no other reader finds other files in it. Rejects with a `PackageError`.
 */
export async function readZip(bytes: Buffer): Promise<readonly ArchiveEntry[]> {
  const zip = await told(fromBufferPromise(bytes, { decodeStrings: false }));
  const directory = directoryOf(bytes, zip.comment.length);
  if (zip.entryCount > ENTRIES_MAX) throw tooMany();
  const entries: ArchiveEntry[] = [];
  const extents: Extent[] = [];
  let directoryBytes = 0;
  const listed = zip.eachEntry();
  for (;;) {
    const next = await told(listed.next());
    if (next.done === true) break;
    const entry: Entry = next.value;
    directoryBytes += ENTRY_BYTES + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    const { archived, extent } = await readEntry(bytes, zip, entry);
    entries.push(archived);
    extents.push(extent);
  }
  if (directoryBytes !== directory.end - directory.start || entries.length !== directory.entries) {
    throw new PackageError("the archive's central directory has another length than it declares");
  }
  checkExtents(extents, directory.start);
  return entries;
}

/** Converts the library's errors, which describe only the bytes. */
async function told<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw new PackageError(`the archive cannot be read: ${error instanceof Error ? quoted(error.message) : "unknown"}`);
  }
}

/** Large archives declare the directory's position twice (ZIP64); the two must agree. */
function directoryOf(bytes: Buffer, commentBytes: number): { start: number; end: number; entries: number } {
  const at = bytes.length - END_BYTES - commentBytes;
  const narrow = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 12), bytes.readUInt32LE(at + 16)] as const;
  let [entries, size, start] = narrow;
  let end = at;
  const locator = at - LOCATOR_BYTES;
  if (locator >= WIDE_END_BYTES && bytes.readUInt32LE(locator) === LOCATOR_SIGNATURE) {
    end = locator - WIDE_END_BYTES;
    const wide = (offset: number): number => Number(bytes.readBigUInt64LE(offset));
    if (wide(locator + 8) !== end)
      throw new PackageError("the end of the archive's central directory is not at its declared position");
    [entries, size, start] = [wide(end + 32), wide(end + 40), wide(end + 48)];
    const agrees = (one: number, other: number, isElsewhere: number): boolean => one === other || one === isElsewhere;
    const isSame =
      agrees(narrow[0], entries, NARROW_16) &&
      agrees(narrow[1], size, NARROW_32) &&
      agrees(narrow[2], start, NARROW_32);
    if (!isSame) throw new PackageError("the archive declares two different positions of its central directory");
  }
  if (start + size !== end) throw new PackageError("the archive's central directory is not at its declared position");
  return { start, end, entries };
}

async function readEntry(
  bytes: Buffer,
  zip: ZipFile,
  entry: Entry,
): Promise<{ readonly archived: ArchiveEntry; readonly extent: Extent }> {
  const { generalPurposeBitFlag: flags, compressionMethod: method, compressedSize, uncompressedSize } = entry;
  const name = getFileNameLowLevel(flags, entry.fileNameRaw, entry.extraFields, true);
  const wrong = (problem: string): PackageError => new PackageError(`the entry ${quoted(name)} ${problem}`);
  if (entry.isEncrypted() || (flags & 0x2040) !== 0) throw wrong("is encrypted");
  if ((flags & ~FLAGS_KNOWN) !== 0 || (method !== STORED && method !== DEFLATED)) {
    throw wrong("is packed in a way that is not read");
  }
  const local = await told(zip.readLocalFileHeaderPromise(entry));
  if (!agreesWith(local, entry)) throw wrong("is one thing in the archive's directory and another before its data");
  const type = (entry.externalFileAttributes >>> 16) & MODE_TYPE;
  const isFolder = name.endsWith("/");
  if (type !== 0 && type !== MODE_FILE && type !== MODE_FOLDER) throw wrong("is a link or a device, and no file");
  if ((type === MODE_FOLDER) !== isFolder && type !== 0) throw wrong("is both a file and a folder");
  if (isFolder && uncompressedSize !== 0) throw wrong("is a folder with content");
  const end = local.fileDataStart + compressedSize;
  const hasDescriptor = (local.generalPurposeBitFlag & FLAG_DESCRIPTOR) !== 0;
  const packed = bytes.subarray(local.fileDataStart, end);
  const read = async (): Promise<Buffer> => {
    const data = method === STORED ? packed : await inflated(packed, uncompressedSize).catch(() => undefined);
    if (data === undefined) throw wrong("is packed wrongly");
    if (data.length !== uncompressedSize) throw wrong("is not as long as the archive says");
    if (crc32(data) !== entry.crc32) throw wrong("is damaged: its checksum is another");
    return data;
  };
  return {
    archived: { name, isFolder, bytes: uncompressedSize, read },
    extent: { start: entry.relativeOffsetOfLocalHeader, end, hasDescriptor },
  };
}

function agreesWith(local: LocalFileHeader, entry: Entry): boolean {
  const isSame =
    local.fileName.equals(entry.fileNameRaw) &&
    local.compressionMethod === entry.compressionMethod &&
    ((local.generalPurposeBitFlag ^ entry.generalPurposeBitFlag) & ~(FLAGS_KNOWN & ~FLAG_UTF8)) === 0;
  if (!isSame || (local.generalPurposeBitFlag & FLAG_DESCRIPTOR) !== 0) return isSame;
  const agrees = (one: number, other: number): boolean => one === other || one === NARROW_32;
  return (
    local.crc32 === entry.crc32 &&
    agrees(local.compressedSize, entry.compressedSize) &&
    agrees(local.uncompressedSize, entry.uncompressedSize)
  );
}

/** Entries must not overlap, and no data may be before, between or after them except data descriptors. */
function checkExtents(extents: readonly Extent[], directoryStart: number): void {
  let at = 0;
  let hasDescriptor = false;
  const isNext = (start: number): boolean => start === at || (hasDescriptor && DESCRIPTOR_SIZES.includes(start - at));
  for (const extent of extents.toSorted((one, other) => one.start - other.start)) {
    if (!isNext(extent.start)) throw misplaced();
    at = extent.end;
    ({ hasDescriptor } = extent);
  }
  if (!isNext(directoryStart)) throw misplaced();
}

function misplaced(): PackageError {
  return new PackageError("the archive's entries overlap, or have data between them");
}

type Inflated = { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
/** With `info`, zlib also returns its engine, which its types do not declare. */
const inflate = promisify(inflateRaw) as (data: InputType, options: ZlibOptions) => Promise<unknown>;

/** `undefined` if there are data after the compressed stream. Rejects if it inflates to more than `size`. */
async function inflated(packed: Buffer, size: number): Promise<Buffer | undefined> {
  const options = { maxOutputLength: Math.max(size, 1), info: true };
  const { buffer, engine } = (await inflate(packed, options)) as Inflated;
  return engine.bytesWritten === packed.length ? buffer : undefined;
}
