import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { access, type FileHandle } from "node:fs/promises";
import { SystemError } from "./system-error.ts";
import { type FolderEntry, FolderTree } from "./folder-tree.ts";
import { LocalFile } from "./local-holder.ts";
import { requireFound, requireFile, type FileKind, kindOf, type FsOperation, type MountTarget } from "./operation.ts";

/** Content of a file as sent to the tool: text if it is valid UTF-8, else Base64. */
export type FileContent = { readonly text: string } | { readonly base64: string };

/** Maximum bytes read between two checks of the call's limits. */
const CHUNK_BYTES = 512 * 1024;
const CHUNK_LEAST_BYTES = 4_096;
/** Maximum length of files on local file systems that are read on this thread. */
export const QUICK_BYTES = 64 * 1024;

/** Encodes bytes: as text, lossily, if the tool asks for text; else losslessly. */
function contentOf(bytes: Buffer, wantsText: boolean): FileContent {
  // Base64 for content with zero bytes: JSON writes six characters for each of them.
  if (wantsText || (isUtf8(bytes) && !bytes.includes(0))) return { text: bytes.toString("utf8") };
  return { base64: bytes.toString("base64") };
}

/** Size of a content in bytes, without decoding it. */
export function sizeOf(content: FileContent): number {
  return "text" in content ? Buffer.byteLength(content.text) : Buffer.byteLength(content.base64, "base64");
}

export function bytesOf(content: FileContent): Buffer {
  return "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");
}

/** Part of a file to read. */
interface FileRange {
  readonly position: number;
  /** Maximum number of bytes to read. */
  readonly maxBytes: number;
  /** Expected number of bytes. The file may change meanwhile, and some files report no size. */
  readonly expectedBytes: number;
}

/** Reads a part of a file, and reports the number of bytes after each step. */
async function readRange(
  handle: FileHandle,
  { position, maxBytes, expectedBytes }: FileRange,
  onRead: (bytes: number) => void,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let read = 0;
  while (read < maxBytes) {
    const guess = Math.min(Math.max(expectedBytes - read + 1, CHUNK_LEAST_BYTES), CHUNK_BYTES, maxBytes - read);
    const chunk = Buffer.alloc(guess);
    const { bytesRead } = await handle.read(chunk, 0, guess, position + read);
    if (bytesRead === 0) break;
    onRead(bytesRead);
    chunks.push(chunk.subarray(0, bytesRead));
    read += bytesRead;
  }
  return Buffer.concat(chunks, read);
}

const { O_RDONLY, W_OK } = constants;

/** Result of `stat`. */
interface FileStatus {
  readonly kind: FileKind;
  readonly size: number;
  readonly mtimeMs: number;
}

/** Arguments of `readFile`. */
interface ReadRequest {
  readonly path: string;
  readonly encoding?: "utf8";
  readonly position?: number;
  readonly length?: number;
}

const ROOT: FileStatus = { kind: "folder", size: 0, mtimeMs: 0 };

export async function readFile(operation: FsOperation, request: ReadRequest): Promise<FileContent> {
  await using target = await operation.find(request.path, true);
  if (target === null) throw new SystemError("EISDIR");
  return contentOf(await readBytes(operation, target, request), request.encoding === "utf8");
}

/** Bytes of a file, or of a part of it. Throws if that is more than one operation may read. */
export async function readBytes(
  operation: FsOperation,
  target: MountTarget,
  { position = 0, length }: Pick<ReadRequest, "position" | "length">,
): Promise<Buffer> {
  const held = requireFile(operation, target);
  const { operationBytes } = operation.call.limits;
  const path = target.path.text;
  const left = Math.max(0, held.stats.size - position);
  const expectedBytes = Math.min(length ?? left, left);
  const granted = `${operationBytes} bytes in one operation`;
  const tooLong = () =>
    operation.refuse.beyond(path, granted, "read it in parts: readFile(path, { position, length })");
  if (expectedBytes > operationBytes) throw tooLong();
  if (held instanceof LocalFile && expectedBytes <= QUICK_BYTES) {
    const bytes = held.read(position, Math.min(length ?? Infinity, expectedBytes + 1));
    // A file that has grown meanwhile is read like a long one.
    if (bytes.length <= expectedBytes || bytes.length === length) {
      operation.spend(path, bytes.length);
      return bytes;
    }
  }
  await using handle = await operation.call.holder.reopen(held, O_RDONLY);
  const maxBytes = Math.min(length ?? Infinity, operationBytes + 1);
  const bytes = await readRange(handle, { position, maxBytes, expectedBytes }, (read) => operation.spend(path, read));
  if (bytes.length > operationBytes) throw tooLong();
  return bytes;
}

export async function readdir(
  operation: FsOperation,
  { path, recursive = false }: { readonly path: string; readonly recursive?: boolean },
): Promise<readonly FolderEntry[]> {
  const tree = new FolderTree(operation, path);
  await using target = await operation.find(path, true);
  if (target !== null) {
    if (!requireFound(target).stats.isDirectory()) throw new SystemError("ENOTDIR");
    return await tree.list(requireFound(target), recursive);
  }
  const entries: FolderEntry[] = [];
  for (const mount of operation.call.mounts.keys()) {
    entries.push([mount, "folder"]);
    if (!recursive) continue;
    await using below = await operation.find(`/${mount}/`, true);
    if (below !== null) entries.push(...(await tree.list(requireFound(below), true, `${mount}/`)));
  }
  return entries;
}

export async function stat(operation: FsOperation, { path }: { readonly path: string }): Promise<FileStatus> {
  return statusOf(operation, path, true);
}

export async function lstat(operation: FsOperation, { path }: { readonly path: string }): Promise<FileStatus> {
  return statusOf(operation, path, false);
}

async function statusOf(operation: FsOperation, path: string, follows: boolean): Promise<FileStatus> {
  await using target = await operation.find(path, follows);
  if (target === null) return ROOT;
  const { stats } = requireFound(target);
  return { kind: kindOf(stats), size: stats.size, mtimeMs: stats.mtimeMs };
}

/**
 * Path without links and dots. `missing`: the last name need not exist, so that a caller about to create it knows its
 * place.
 */
export async function realpath(
  operation: FsOperation,
  { path, missing = false }: { readonly path: string; readonly missing?: boolean },
): Promise<string> {
  await using target = await operation.find(path, true);
  if (target === null) return "/";
  if (!missing) requireFound(target);
  return `/${[target.mount, ...target.names].join("/")}`;
}

/** Checks that a file or folder exists and may be read or written, by the grant as well as by the system. */
export async function accessPath(
  operation: FsOperation,
  { path, mode = 0 }: { readonly path: string; readonly mode?: number },
): Promise<null> {
  await using target = (mode & W_OK) === 0 ? await operation.find(path, true) : await operation.claim(path, true);
  if (target !== null) await access(requireFound(target).path, mode);
  return null;
}
