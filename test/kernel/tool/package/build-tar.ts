import { gzipSync } from "node:zlib";

export interface TarPart {
  readonly name: string;
  readonly data?: string | Buffer;
  /** `0` where nothing is said: a file. */
  readonly type?: string;
  readonly link?: string;
  readonly mode?: number;
  /** As it stands in the header, instead of what `data` gives. */
  readonly size?: string;
  readonly checksum?: string;
}

const BLOCK = 512;

/** A tar archive, block by block. */
export function buildTar(parts: readonly TarPart[], endBlocks = 2): Buffer {
  const blocks = parts.flatMap((part) => {
    const data = Buffer.from(part.data ?? "");
    return [header(part, data.length), data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(endBlocks * BLOCK)]);
}

export function buildTarGz(parts: readonly TarPart[]): Buffer {
  return gzipSync(buildTar(parts));
}

/** The attributes that precede an entry. */
export function attributes(records: Readonly<Record<string, string>>, type = "x"): TarPart {
  const data = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest) + 1;
    while (Buffer.byteLength(`${length}${rest}`) !== length) length++;
    return `${length}${rest}`;
  });
  return { name: "PaxHeaders/x", type, data: data.join("") };
}

function header({ name, type = "0", link = "", mode = 0o644, size, checksum }: TarPart, bytes: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100);
  block.write(`${mode.toString(8).padStart(7, "0")}\0`, 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  block.write(size ?? `${bytes.toString(8).padStart(11, "0")}\0`, 124, 12, "latin1");
  block.write("00000000000\0", 136);
  block.write("        ", 148);
  block.write(type, 156, 1, "latin1");
  block.write(link, 157, 100);
  block.write("ustar\x0000", 257);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(checksum ?? `${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}
