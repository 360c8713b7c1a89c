import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { type Content, contentOf, readPart } from "./content.ts";
import { SystemError } from "./system-error.ts";
import { type Entry, Tree } from "./tree.ts";
import { found, foundFile, kindOf, type Kind, type Visit, type Visited } from "./visit.ts";

const { O_RDONLY, W_OK } = constants;

/** What `stat` says of something. */
export interface Facts {
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
