import { createHash, randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AssetError } from "./asset-error.ts";

/** Allowed types of assets: packages of tools, recognized by file extension and first bytes. */
const KINDS = [
  { end: /\.zip$/i, type: "application/zip", begins: Buffer.from("PK") },
  { end: /\.(?:tar\.gz|tgz)$/i, type: "application/gzip", begins: Buffer.from([0x1f, 0x8b]) },
] as const;
const HEAD_BYTES = 2;
const FILE = /^(?!\.+$)[A-Za-z0-9_.-]{1,128}$/;

/** A completely received file that is not stored yet: disposing of it deletes it, unless it was moved. */
export interface Upload extends AsyncDisposable {
  /** Temporary location. */
  readonly path: string;
  /** File name given by the client. */
  readonly file: string;
  readonly type: string;
  readonly bytes: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly sha256: string;
}

/** Streams an upload into a folder. Rejects with an `AssetError`, and then leaves no file. */
export async function receive(source: Readable, file: string, folder: string, maxBytes: number): Promise<Upload> {
  const kind = KINDS.find(({ end }) => end.test(file));
  if (!FILE.test(file) || kind === undefined) {
    throw new AssetError(
      "wrong_type",
      "an asset is a file whose name is made of A-Z a-z 0-9 _ . - and ends in .zip, .tar.gz or .tgz",
    );
  }
  const path = join(folder, randomUUID());
  const target = createWriteStream(path, { flags: "wx", mode: 0o600 });
  const remove = async (): Promise<void> => {
    // Removing a file that is still being opened would leave it behind.
    if (!target.closed) await new Promise((resolve) => target.once("close", resolve));
    await rm(path, { force: true });
  };
  const hash = createHash("sha256");
  let bytes = 0;
  let head = Buffer.alloc(0);
  try {
    await pipeline(
      source,
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          bytes += chunk.length;
          if (bytes > maxBytes) throw new AssetError("too_large", `an asset has at most ${maxBytes} bytes`);
          if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES)]);
          hash.update(chunk);
          yield chunk;
        }
      },
      target,
    );
    if (!head.subarray(0, HEAD_BYTES).equals(kind.begins)) {
      throw new AssetError("wrong_type", `the file is named as ${kind.type}, and its bytes are something else`);
    }
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, file, type: kind.type, bytes, sha256: hash.digest("hex"), [Symbol.asyncDispose]: remove };
}
