import { constants } from "node:fs";
import {
  type FileHandle,
  mkdir as makeFolder,
  rename as renameEntry,
  rmdir,
  unlink as unlinkEntry,
} from "node:fs/promises";
import { bytesOf, type Content, readBytes, sizeOf } from "./reading.ts";
import { child } from "./grip.ts";
import { codeOf, SystemError } from "./system-error.ts";
import { entryOf, found, foundFile, readPath, type Visit, type Visited } from "./visit.ts";
import { Tree } from "./tree.ts";

const { O_APPEND, O_RDWR, O_WRONLY } = constants;
/** How often a file is looked for again that came or went while it was opened. */
const TRIES_MAX = 8;

/** `w` writes anew, `a` at the end; with `x`, only where nothing is there yet. */
type Flag = "w" | "wx" | "a" | "ax";

export async function writeFile(
  visit: Visit,
  { path, data, flag = "w" }: { readonly path: string; readonly data: Content; readonly flag?: Flag },
): Promise<null> {
  const { operationBytes } = visit.call.limits;
  if (sizeOf(data) > operationBytes) {
    const granted = `${operationBytes} bytes in one operation`;
    throw visit.refuse.beyond(path, granted, "write it in parts: appendFile(path, part)");
  }
  await writeBytes(visit, path, bytesOf(data), flag);
  return null;
}

export async function copyFile(
  visit: Visit,
  { path, to, exclusive = false }: { readonly path: string; readonly to: string; readonly exclusive?: boolean },
): Promise<null> {
  await using source = await visit.find(path, true);
  if (source === null) throw new SystemError("EISDIR");
  const { stats } = foundFile(visit, source);
  {
    // A file that is copied to itself would be emptied first.
    await using target = await visit.claim(to, true);
    const there = target.held?.stats;
    if (there?.dev === stats.dev && there.ino === stats.ino && !exclusive) return null;
  }
  await writeBytes(visit, to, await readBytes(visit, source, {}), exclusive ? "wx" : "w");
  return null;
}

export async function truncate(
  visit: Visit,
  { path, length = 0 }: { readonly path: string; readonly length?: number },
): Promise<null> {
  await using place = await visit.claim(path, true);
  const held = foundFile(visit, place);
  const grown = length - held.stats.size;
  const { operationBytes } = visit.call.limits;
  if (grown > operationBytes) {
    throw visit.refuse.beyond(path, `${operationBytes} bytes more in one operation`, "extend it in smaller steps");
  }
  visit.spendWritten(place, Math.max(0, grown));
  await using handle = await visit.call.grip.reopen(held, O_RDWR);
  await handle.truncate(length);
  return null;
}

/** Makes a folder; with `recursive`, those that lead there as well. Gives the first that was made. */
export async function mkdir(
  visit: Visit,
  { path, recursive = false }: { readonly path: string; readonly recursive?: boolean },
): Promise<string | null> {
  if (!recursive) {
    await using place = await visit.claim(path, false);
    if (place.held !== null) throw new SystemError("EEXIST");
    await make(visit, place);
    return null;
  }
  const { mount, names } = readPath(path);
  let first: string | null = null;
  for (let depth = 0; depth <= names.length; depth++) {
    const part = `/${[mount ?? "", ...names.slice(0, depth)].join("/")}`;
    await using place = await visit.claim(part, true);
    if (place.held?.stats.isDirectory()) continue;
    if (place.held !== null) throw new SystemError(depth === names.length ? "EEXIST" : "ENOTDIR");
    await make(visit, place);
    first ??= part;
  }
  return first;
}

async function make(visit: Visit, place: Visited): Promise<void> {
  const { folder, name } = entryOf(place);
  visit.countNew(place);
  await makeFolder(child(folder, name));
}

export async function rm(
  visit: Visit,
  request: { readonly path: string; readonly recursive?: boolean; readonly force?: boolean },
): Promise<null> {
  const { path, recursive = false, force = false } = request;
  try {
    await using place = await visit.claim(path, false);
    const held = found(place);
    const { folder, name } = entryOf(place);
    if (!held.stats.isDirectory()) await unlinkEntry(child(folder, name));
    else if (recursive) await new Tree(visit, path).remove(folder, name, held);
    else throw new SystemError("EISDIR");
  } catch (error) {
    if (!force || codeOf(error) !== "ENOENT") throw error;
  }
  return null;
}

export async function unlink(visit: Visit, { path }: { readonly path: string }): Promise<null> {
  await using place = await visit.claim(path, false);
  if (found(place).stats.isDirectory()) throw new SystemError("EISDIR");
  const { folder, name } = entryOf(place);
  await unlinkEntry(child(folder, name));
  return null;
}

export async function removeFolder(visit: Visit, { path }: { readonly path: string }): Promise<null> {
  await using place = await visit.claim(path, false);
  if (!found(place).stats.isDirectory()) throw new SystemError("ENOTDIR");
  const { folder, name } = entryOf(place);
  await rmdir(child(folder, name));
  return null;
}

/** Moves something within its mount. Mounts are as file systems of their own, whatever they are on the host. */
export async function rename(
  visit: Visit,
  { path, to }: { readonly path: string; readonly to: string },
): Promise<null> {
  await using from = await visit.claim(path, false);
  await using target = await visit.claim(to, false);
  found(from);
  const [old, now] = [entryOf(from), entryOf(target)];
  if (from.mount !== target.mount) throw new SystemError("EXDEV");
  await renameEntry(child(old.folder, old.name), child(now.folder, now.name));
  return null;
}

async function writeBytes(visit: Visit, path: string, bytes: Buffer, flag: Flag): Promise<void> {
  await using handle = await openToWrite(visit, path, flag, bytes.length);
  if (flag === "w") await handle.truncate(0);
  await handle.writeFile(bytes, { signal: visit.call.signal });
}

/** The file at a path, the one that is there or a new one, with the bytes counted that will be written to it. */
async function openToWrite(visit: Visit, path: string, flag: Flag, bytes: number): Promise<FileHandle> {
  const isNew = flag === "wx" || flag === "ax";
  for (let tries = 1; ; tries++) {
    await using place = await visit.claim(path, !isNew);
    if (isNew && place.held !== null) throw new SystemError("EEXIST");
    const { grip } = visit.call;
    const append = flag === "a" ? O_APPEND : 0;
    if (place.held !== null) {
      const handle = await grip.reopen(foundFile(visit, place), O_WRONLY | append);
      return await counted(visit, place, bytes, handle);
    }
    if (place.path.isFolder) throw new SystemError("EISDIR");
    const { folder, name } = entryOf(place);
    visit.countNew(place);
    try {
      return await counted(visit, place, bytes, await grip.create(folder, name));
    } catch (error) {
      if (isNew || codeOf(error) !== "EEXIST" || tries >= TRIES_MAX) throw error;
    }
  }
}

/** An open file, unless what is to be written to it exceeds a limit: then it is closed as it is. */
async function counted(visit: Visit, place: Visited, bytes: number, handle: FileHandle): Promise<FileHandle> {
  try {
    visit.spendWritten(place, bytes);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}
