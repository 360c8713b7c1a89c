import { constants } from "node:fs";
import {
  type FileHandle,
  mkdir as makeFolder,
  rename as renameEntry,
  rmdir,
  unlink as unlinkEntry,
} from "node:fs/promises";
import { bytesOf, type FileContent, readBytes, sizeOf } from "./reading.ts";
import { child } from "./file-holder.ts";
import { codeOf, SystemError } from "./system-error.ts";
import { parentEntryOf, requireFound, requireFile, readPath, type FsOperation, type MountTarget } from "./operation.ts";
import { FolderTree } from "./folder-tree.ts";

const { O_APPEND, O_RDWR, O_WRONLY } = constants;
/** Maximum attempts to open a file that another process creates or removes at the same time. */
const TRIES_MAX = 8;

/** `w` replaces the content, `a` appends; `x` fails if the file exists. */
type Flag = "w" | "wx" | "a" | "ax";

export async function writeFile(
  operation: FsOperation,
  { path, data, flag = "w" }: { readonly path: string; readonly data: FileContent; readonly flag?: Flag },
): Promise<null> {
  const { operationBytes } = operation.call.limits;
  if (sizeOf(data) > operationBytes) {
    const granted = `${operationBytes} bytes in one operation`;
    throw operation.refuse.beyond(path, granted, "write it in parts: appendFile(path, part)");
  }
  await writeBytes(operation, path, bytesOf(data), flag);
  return null;
}

export async function copyFile(
  operation: FsOperation,
  { path, to, exclusive = false }: { readonly path: string; readonly to: string; readonly exclusive?: boolean },
): Promise<null> {
  await using source = await operation.find(path, true);
  if (source === null) throw new SystemError("EISDIR");
  const { stats } = requireFile(operation, source);
  {
    // Copying a file to itself would truncate it first.
    await using target = await operation.claim(to, true);
    const there = target.held?.stats;
    if (there?.dev === stats.dev && there.ino === stats.ino && !exclusive) return null;
  }
  await writeBytes(operation, to, await readBytes(operation, source, {}), exclusive ? "wx" : "w");
  return null;
}

export async function truncate(
  operation: FsOperation,
  { path, length = 0 }: { readonly path: string; readonly length?: number },
): Promise<null> {
  await using target = await operation.claim(path, true);
  const held = requireFile(operation, target);
  const grown = length - held.stats.size;
  const { operationBytes } = operation.call.limits;
  if (grown > operationBytes) {
    throw operation.refuse.beyond(path, `${operationBytes} bytes more in one operation`, "extend it in smaller steps");
  }
  operation.spendWritten(target, Math.max(0, grown));
  await using handle = await operation.call.holder.reopen(held, O_RDWR);
  await handle.truncate(length);
  return null;
}

/** Creates a folder; with `recursive`, also missing parents. Returns the first folder created. */
export async function mkdir(
  operation: FsOperation,
  { path, recursive = false }: { readonly path: string; readonly recursive?: boolean },
): Promise<string | null> {
  if (!recursive) {
    await using target = await operation.claim(path, false);
    if (target.held !== null) throw new SystemError("EEXIST");
    await make(operation, target);
    return null;
  }
  const { mount, names } = readPath(path);
  let first: string | null = null;
  for (let depth = 0; depth <= names.length; depth++) {
    const part = `/${[mount ?? "", ...names.slice(0, depth)].join("/")}`;
    await using target = await operation.claim(part, true);
    if (target.held?.stats.isDirectory()) continue;
    if (target.held !== null) throw new SystemError(depth === names.length ? "EEXIST" : "ENOTDIR");
    await make(operation, target);
    first ??= part;
  }
  return first;
}

async function make(operation: FsOperation, target: MountTarget): Promise<void> {
  const { folder, name } = parentEntryOf(target);
  operation.countNew(target);
  await makeFolder(child(folder, name));
}

export async function rm(
  operation: FsOperation,
  request: { readonly path: string; readonly recursive?: boolean; readonly force?: boolean },
): Promise<null> {
  const { path, recursive = false, force = false } = request;
  try {
    await using target = await operation.claim(path, false);
    const held = requireFound(target);
    const { folder, name } = parentEntryOf(target);
    if (!held.stats.isDirectory()) await unlinkEntry(child(folder, name));
    else if (recursive) await new FolderTree(operation, path).remove(folder, name, held);
    else throw new SystemError("EISDIR");
  } catch (error) {
    if (!force || codeOf(error) !== "ENOENT") throw error;
  }
  return null;
}

export async function unlink(operation: FsOperation, { path }: { readonly path: string }): Promise<null> {
  await using target = await operation.claim(path, false);
  if (requireFound(target).stats.isDirectory()) throw new SystemError("EISDIR");
  const { folder, name } = parentEntryOf(target);
  await unlinkEntry(child(folder, name));
  return null;
}

export async function removeFolder(operation: FsOperation, { path }: { readonly path: string }): Promise<null> {
  await using target = await operation.claim(path, false);
  if (!requireFound(target).stats.isDirectory()) throw new SystemError("ENOTDIR");
  const { folder, name } = parentEntryOf(target);
  await rmdir(child(folder, name));
  return null;
}

/** Renames within a mount. Mounts act as separate file systems, even if they share one on the host. */
export async function rename(
  operation: FsOperation,
  { path, to }: { readonly path: string; readonly to: string },
): Promise<null> {
  await using from = await operation.claim(path, false);
  await using target = await operation.claim(to, false);
  requireFound(from);
  const [old, now] = [parentEntryOf(from), parentEntryOf(target)];
  if (from.mount !== target.mount) throw new SystemError("EXDEV");
  await renameEntry(child(old.folder, old.name), child(now.folder, now.name));
  return null;
}

async function writeBytes(operation: FsOperation, path: string, bytes: Buffer, flag: Flag): Promise<void> {
  await using handle = await openToWrite(operation, path, flag, bytes.length);
  if (flag === "w") await handle.truncate(0);
  await handle.writeFile(bytes, { signal: operation.call.signal });
}

/** Opens the existing file at a path or creates one, and counts the bytes to be written to it. */
async function openToWrite(operation: FsOperation, path: string, flag: Flag, bytes: number): Promise<FileHandle> {
  const isNew = flag === "wx" || flag === "ax";
  for (let tries = 1; ; tries++) {
    await using target = await operation.claim(path, !isNew);
    if (isNew && target.held !== null) throw new SystemError("EEXIST");
    const { holder } = operation.call;
    // Also if the file is made: another operation may write to it before this one does.
    const flags = O_WRONLY | (flag === "a" || flag === "ax" ? O_APPEND : 0);
    if (target.held !== null) {
      const handle = await holder.reopen(requireFile(operation, target), flags);
      return await counted(operation, target, bytes, handle);
    }
    if (target.path.isFolder) throw new SystemError("EISDIR");
    const { folder, name } = parentEntryOf(target);
    operation.countNew(target);
    try {
      return await counted(operation, target, bytes, await holder.create(folder, name, flags));
    } catch (error) {
      if (isNew || codeOf(error) !== "EEXIST" || tries >= TRIES_MAX) throw error;
    }
  }
}

/** Counts the bytes to be written to an open file; closes the file unchanged if they exceed a limit. */
async function counted(
  operation: FsOperation,
  target: MountTarget,
  bytes: number,
  handle: FileHandle,
): Promise<FileHandle> {
  try {
    operation.spendWritten(target, bytes);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}
