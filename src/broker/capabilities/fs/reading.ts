import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { access, type FileHandle } from "node:fs/promises";
import { SystemError } from "./system-error.ts";
import { type Entry, Tree } from "./tree.ts";
import { found, foundFile, type Kind, kindOf, type Visit, type Visited } from "./visit.ts";

/** The content of a file as it crosses: as text where it is text, else as Base64. */
export type Content = { readonly text: string } | { readonly base64: string };

/** How much is read between two looks at the call's limits. */
const CHUNK_BYTES = 512 * 1024;
const CHUNK_LEAST_BYTES = 4_096;

/** The content for a tool that wants a text, whatever the bytes are, or the very bytes. */
function contentOf(bytes: Buffer, wantsText: boolean): Content {
  // JSON writes six characters for a zero byte: Base64 is shorter then.
  if (wantsText || (isUtf8(bytes) && !bytes.includes(0))) return { text: bytes.toString("utf8") };
  return { base64: bytes.toString("base64") };
}

/** How many bytes a content has, without making them. */
export function sizeOf(content: Content): number {
  return "text" in content ? Buffer.byteLength(content.text) : Buffer.byteLength(content.base64, "base64");
}

export function bytesOf(content: Content): Buffer {
  return "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");
}

/** What part of a file to read. */
interface Part {
  readonly position: number;
  /** What is beyond is not read. */
  readonly maxBytes: number;
  /** How many bytes there seem to be: a file may be changed meanwhile, and some files do not know. */
  readonly expectedBytes: number;
}

/** Reads a part of a file, and tells how much was read after each step. */
async function readPart(
  handle: FileHandle,
  { position, maxBytes, expectedBytes }: Part,
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

/** What `stat` says of something. */
interface Facts {
  readonly kind: Kind;
  readonly size: number;
  readonly mtimeMs: number;
}

/** What a tool wants of a file. */
interface ReadRequest {
  readonly path: string;
  readonly encoding?: "utf8";
  readonly position?: number;
  readonly length?: number;
}

const ROOT: Facts = { kind: "folder", size: 0, mtimeMs: 0 };

export async function readFile(visit: Visit, request: ReadRequest): Promise<Content> {
  await using place = await visit.find(request.path, true);
  if (place === null) throw new SystemError("EISDIR");
  return contentOf(await readBytes(visit, place, request), request.encoding === "utf8");
}

/** The bytes of a file, or of a part of it; a file that is longer than one operation may read is not read at all. */
export async function readBytes(
  visit: Visit,
  place: Visited,
  { position = 0, length }: Pick<ReadRequest, "position" | "length">,
): Promise<Buffer> {
  const held = foundFile(visit, place);
  const { operationBytes } = visit.call.limits;
  const path = place.path.text;
  const left = Math.max(0, held.stats.size - position);
  const expectedBytes = Math.min(length ?? left, left);
  const granted = `${operationBytes} bytes in one operation`;
  const tooLong = () => visit.refuse.beyond(path, granted, "read it in parts: readFile(path, { position, length })");
  if (expectedBytes > operationBytes) throw tooLong();
  await using handle = await visit.call.grip.reopen(held, O_RDONLY);
  const maxBytes = Math.min(length ?? Infinity, operationBytes + 1);
  const bytes = await readPart(handle, { position, maxBytes, expectedBytes }, (read) => visit.spend(path, read));
  if (bytes.length > operationBytes) throw tooLong();
  return bytes;
}

export async function readdir(
  visit: Visit,
  { path, recursive = false }: { readonly path: string; readonly recursive?: boolean },
): Promise<readonly Entry[]> {
  const tree = new Tree(visit, path);
  await using place = await visit.find(path, true);
  if (place !== null) {
    if (!found(place).stats.isDirectory()) throw new SystemError("ENOTDIR");
    return await tree.list(found(place), recursive);
  }
  const entries: Entry[] = [];
  for (const mount of visit.call.mounts.keys()) {
    entries.push([mount, "folder"]);
    if (!recursive) continue;
    await using below = await visit.find(`/${mount}/`, true);
    if (below !== null) entries.push(...(await tree.list(found(below), true, `${mount}/`)));
  }
  return entries;
}

export async function stat(visit: Visit, { path }: { readonly path: string }): Promise<Facts> {
  return factsOf(visit, path, true);
}

export async function lstat(visit: Visit, { path }: { readonly path: string }): Promise<Facts> {
  return factsOf(visit, path, false);
}

async function factsOf(visit: Visit, path: string, follows: boolean): Promise<Facts> {
  await using place = await visit.find(path, follows);
  if (place === null) return ROOT;
  const { stats } = found(place);
  return { kind: kindOf(stats), size: stats.size, mtimeMs: stats.mtimeMs };
}

/**
 * The path without links and dots. `missing`: also where nothing has its last name, so that whoever makes it knows
 * beforehand where it will be.
 */
export async function realpath(
  visit: Visit,
  { path, missing = false }: { readonly path: string; readonly missing?: boolean },
): Promise<string> {
  await using place = await visit.find(path, true);
  if (place === null) return "/";
  if (!missing) found(place);
  return `/${[place.mount, ...place.names].join("/")}`;
}

/** Whether something is there, and may be read or written: by the grant as well as by the system. */
export async function accessPath(
  visit: Visit,
  { path, mode = 0 }: { readonly path: string; readonly mode?: number },
): Promise<null> {
  await using place = (mode & W_OK) === 0 ? await visit.find(path, true) : await visit.claim(path, true);
  if (place !== null) await access(found(place).path, mode);
  return null;
}
