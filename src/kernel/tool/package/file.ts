import { errnoOf } from "../../base/errno.ts";
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { PackageError, quoted } from "./step.ts";

/** Bytes that are hashed in one turn of the event loop. */
const HASHED_IN_TURN = 2 * 1024 * 1024;

/**
 * A file's content; `undefined` if it does not exist. Only regular files are read, and links are followed only in the
 * operator's folders.
 */
export async function readFileAt(
  file: string,
  name: string,
  maxBytes: number,
  isOperators = false,
): Promise<Buffer | undefined> {
  const handle = await openFile(file, name, isOperators ? 0 : constants.O_NOFOLLOW);
  if (handle === undefined) return undefined;
  await using owned = handle;
  const found = await owned.stat();
  if (!found.isFile()) throw new PackageError(`${quoted(name)} is not a file`);
  if (found.size > maxBytes) throw new PackageError(`${quoted(name)} is larger than ${maxBytes} bytes`);
  // The file may grow while it is read.
  const buffer = Buffer.alloc(found.size);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await owned.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

type FileHandle = Awaited<ReturnType<typeof open>>;

async function openFile(file: string, name: string, flags: number): Promise<FileHandle | undefined> {
  try {
    // O_NONBLOCK: opening a pipe without a writer would block.
    return await open(file, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  } catch (error) {
    const code = errnoOf(error) ?? "";
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw new PackageError(`${quoted(name)} is a link, not a file`);
    throw new PackageError(`${quoted(name)} cannot be read (${code})`);
  }
}

/** The SHA-256 of bytes in hexadecimal, in many turns of the event loop. */
export async function hashOf(bytes: Buffer): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes.length; at += HASHED_IN_TURN) {
    if (at > 0) await setImmediate();
    hash.update(bytes.subarray(at, at + HASHED_IN_TURN));
  }
  return hash.digest("hex");
}
