import { readFileSync, statSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { crc32 } from "node:zlib";

/** Folders in which systems keep compiled files of time zones (RFC 9636), in Python's order of search. */
const FOLDERS = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];
/** The file in the archive of Python's library, and in the package: that of the build machine. */
export const ZONES_FILE = "zones.bin";
const NAME = /^[A-Z][\w+-]*(?:\/[\w+-]+){0,3}$/i;
/** Other forms of the same zones, and links to the machine's own. */
const NO_ZONE = /^(?:posix|right)\/|^(?:localtime|posixrules)$/;
const ZONES_MAX = 2_000;
const ZONE_BYTES_MAX = 64 * 1024;
const MAGIC = "TZif";
const HEADER_BYTES = 44;

/**
 * The machine's zones in one file: JSON with the place and the length of each by name, a line feed, and their data.
 * Without any, the file in `built`, the folder of the package; `null` in the sources, which have none.
 */
export async function readZones(built: string): Promise<Buffer | null> {
  const folder = machineFolder();
  return folder === undefined ? readFile(path.join(built, ZONES_FILE)).catch(() => null) : pack(folder);
}

/** A step of `npm run build`: a machine without zones makes a package without them. @public */
export async function writeZones(folder: string): Promise<void> {
  const zones = await readZones(folder);
  if (zones !== null) return writeFile(path.join(folder, ZONES_FILE), zones);
  process.stderr.write(`no data of time zones are in ${FOLDERS.join(", ")}: install tzdata before you publish\n`);
}

/** Whether this machine has data of time zones. */
export function hasZones(): boolean {
  return machineFolder() !== undefined;
}

/** The version of the machine's data; empty if it has none. */
export function zonesVersion(): string {
  const folder = machineFolder();
  if (folder === undefined) return "";
  try {
    return readFileSync(path.join(folder, "tzdata.zi"), "utf8").slice(0, 64);
  } catch {
    return String(statSync(folder).mtimeMs);
  }
}

function machineFolder(): string | undefined {
  return FOLDERS.find((folder) => statSync(path.join(folder, "Etc", "UTC"), { throwIfNoEntry: false })?.isFile());
}

async function pack(folder: string): Promise<Buffer> {
  const places = new Map<string, readonly [at: number, length: number]>();
  /** Many names have the same data. */
  const known = new Map<string, readonly [at: number, length: number]>();
  const parts: Buffer[] = [];
  let end = 0;
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    if (!NAME.test(name) || NO_ZONE.test(name) || places.size === ZONES_MAX) continue;
    const data = slim(await readFile(path.join(folder, name)).catch(() => Buffer.alloc(0)));
    if (data === null) continue;
    const key = data.toString("latin1");
    const place = known.get(key) ?? [end, data.length];
    if (!known.has(key)) {
      known.set(key, place);
      parts.push(data);
      end += data.length;
    }
    places.set(name, place);
  }
  return Buffer.concat([Buffer.from(`${JSON.stringify(Object.fromEntries(places))}\n`), ...parts]);
}

/** The data without their part for readers of before 2005, which Python skips; `null` for another file. */
function slim(data: Buffer): Buffer | null {
  if (data.length < HEADER_BYTES || data.length > ZONE_BYTES_MAX || data.toString("latin1", 0, 4) !== MAGIC)
    return null;
  // A file of the first version has no further data.
  if (data[4] === 0) return data;
  const [utc = 0, standard = 0, leaps = 0, times = 0, types = 0, characters = 0] = [20, 24, 28, 32, 36, 40].map((at) =>
    data.readUInt32BE(at),
  );
  const rest = data.subarray(HEADER_BYTES + times * 5 + types * 6 + characters + leaps * 8 + standard + utc);
  return Buffer.concat([data.subarray(0, 20), Buffer.alloc(HEADER_BYTES - 20), rest]);
}

const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const END_MARK = 0x06_05_4b_50;

/** A zip archive without a comment, with one more file, uncompressed. Throws for another archive. */
export function withFile(archive: Buffer, name: string, data: Buffer): Buffer {
  const end = archive.subarray(archive.length - END_BYTES);
  if (end.readUInt32LE(0) !== END_MARK) throw new Error("this version of Pyodide packs its library in another way");
  const [count, size, start] = [end.readUInt16LE(10), end.readUInt32LE(12), end.readUInt32LE(16)];
  const about = Buffer.alloc(26);
  // Version, flags and method, all of the simplest; 1980-01-01.
  about.writeUInt16LE(20, 0);
  about.writeUInt16LE(0x21, 8);
  about.writeUInt32LE(crc32(data), 10);
  about.writeUInt32LE(data.length, 14);
  about.writeUInt32LE(data.length, 18);
  about.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04"), about, Buffer.from(name)], LOCAL_BYTES + name.length);
  const central = Buffer.alloc(CENTRAL_BYTES + name.length);
  central.write("PK\x01\x02", "latin1");
  central.writeUInt16LE(20, 4);
  about.copy(central, 6);
  central.writeUInt32LE(start, 42);
  central.write(name, CENTRAL_BYTES, "latin1");
  const last = Buffer.from(end);
  for (const at of [8, 10]) last.writeUInt16LE(count + 1, at);
  last.writeUInt32LE(size + central.length, 12);
  last.writeUInt32LE(start + local.length + data.length, 16);
  const [files, index] = [archive.subarray(0, start), archive.subarray(start, start + size)];
  return Buffer.concat([files, local, data, index, central, last]);
}
