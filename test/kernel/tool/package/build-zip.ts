import { crc32, deflateRawSync } from "node:zlib";

/** The numbers of a header, as they are written: what is not said is what is right. */
export interface ZipFields {
  readonly name?: string | Buffer;
  readonly flags?: number;
  readonly method?: number;
  readonly crc?: number;
  readonly packedBytes?: number;
  readonly bytes?: number;
  readonly extra?: Buffer;
}

export interface ZipPart {
  readonly name: string;
  readonly data?: string | Buffer;
  readonly isStored?: boolean;
  /** As it lies in the archive, instead of what `data` gives. */
  readonly packed?: Buffer;
  readonly both?: ZipFields;
  readonly local?: ZipFields;
  readonly central?: ZipFields & { readonly madeBy?: number; readonly attributes?: number; readonly offset?: number };
  /** What follows the data. */
  readonly behind?: Buffer;
}

export interface ZipEnd {
  readonly entries?: number;
  readonly directoryBytes?: number;
  readonly directoryStart?: number;
  readonly comment?: string;
  readonly commentBytes?: number;
  readonly prefix?: Buffer;
  readonly suffix?: Buffer;
  /** Between the last file and the directory. */
  readonly gap?: Buffer;
  /** Writes the end in the wide form as well; `true` where all is right in it. */
  readonly wide?: true | { readonly entries?: bigint; readonly directoryStart?: bigint; readonly at?: bigint };
}

const UTF8 = 0x0800;

/** A zip archive, byte by byte. */
export function buildZip(parts: readonly ZipPart[], end: ZipEnd = {}): Buffer {
  const pieces: Buffer[] = [end.prefix ?? Buffer.alloc(0)];
  const directory: Buffer[] = [];
  let at = pieces[0]?.length ?? 0;
  for (const part of parts) {
    const data = Buffer.from(part.data ?? "");
    const packed = part.packed ?? (part.isStored === true ? data : deflateRawSync(data));
    const right = {
      name: part.name,
      flags: UTF8,
      method: part.isStored === true ? 0 : 8,
      crc: crc32(data),
      packedBytes: packed.length,
      bytes: data.length,
      extra: Buffer.alloc(0),
      ...part.both,
    };
    const local = Buffer.concat([localHeader({ ...right, ...part.local }), packed, part.behind ?? Buffer.alloc(0)]);
    directory.push(centralHeader({ ...right, madeBy: 0x031e, attributes: 0, offset: at, ...part.central }));
    pieces.push(local);
    at += local.length;
  }
  const gap = end.gap ?? Buffer.alloc(0);
  const listed = Buffer.concat(directory);
  const all = [...pieces, gap, listed];
  return Buffer.concat([
    ...all,
    endOf(parts.length, listed.length, at + gap.length, end),
    end.suffix ?? Buffer.alloc(0),
  ]);
}

function localHeader(fields: Required<ZipFields>): Buffer {
  const name = Buffer.from(fields.name);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(fields.flags, 6);
  header.writeUInt16LE(fields.method, 8);
  header.writeUInt32LE(fields.crc, 14);
  header.writeUInt32LE(fields.packedBytes, 18);
  header.writeUInt32LE(fields.bytes, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(fields.extra.length, 28);
  return Buffer.concat([header, name, fields.extra]);
}

type Central = Required<ZipFields> & { madeBy: number; attributes: number; offset: number };

function centralHeader(fields: Central): Buffer {
  const name = Buffer.from(fields.name);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(fields.madeBy, 4);
  header.writeUInt16LE(20, 6);
  header.writeUInt16LE(fields.flags, 8);
  header.writeUInt16LE(fields.method, 10);
  header.writeUInt32LE(fields.crc, 16);
  header.writeUInt32LE(fields.packedBytes, 20);
  header.writeUInt32LE(fields.bytes, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(fields.extra.length, 30);
  header.writeUInt32LE(fields.attributes, 38);
  header.writeUInt32LE(fields.offset, 42);
  return Buffer.concat([header, name, fields.extra]);
}

function endOf(entries: number, directoryBytes: number, directoryStart: number, end: ZipEnd): Buffer {
  const comment = Buffer.from(end.comment ?? "");
  const header = Buffer.alloc(22);
  const isWide = end.wide !== undefined;
  header.writeUInt32LE(0x06054b50, 0);
  for (const offset of [8, 10]) header.writeUInt16LE(end.entries ?? (isWide ? 0xffff : entries), offset);
  header.writeUInt32LE(end.directoryBytes ?? (isWide ? 0xffffffff : directoryBytes), 12);
  header.writeUInt32LE(end.directoryStart ?? (isWide ? 0xffffffff : directoryStart), 16);
  header.writeUInt16LE(end.commentBytes ?? comment.length, 20);
  if (end.wide === undefined) return Buffer.concat([header, comment]);
  const said = end.wide === true ? {} : end.wide;
  const wide = Buffer.alloc(56 + 20);
  wide.writeUInt32LE(0x06064b50, 0);
  wide.writeBigUInt64LE(44n, 4);
  for (const offset of [24, 32]) wide.writeBigUInt64LE(said.entries ?? BigInt(entries), offset);
  wide.writeBigUInt64LE(BigInt(directoryBytes), 40);
  wide.writeBigUInt64LE(said.directoryStart ?? BigInt(directoryStart), 48);
  wide.writeUInt32LE(0x07064b50, 56);
  wide.writeBigUInt64LE(said.at ?? BigInt(directoryStart + directoryBytes), 64);
  wide.writeUInt32LE(1, 72);
  return Buffer.concat([wide, header, comment]);
}
