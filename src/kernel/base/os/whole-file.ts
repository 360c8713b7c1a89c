import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";

/** Permissions of a new file, before the process's mask. */
const MODE = 0o666;

/**
 * Writes a file under another name in its folder first, so that no reader sees a part of it. If that fails, the file is
 * unchanged.
 */
export async function writeWhole(file: string, content: string | Buffer, mode = MODE): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await using handle = await open(draft, "wx", mode);
    await handle.writeFile(content);
    await handle.datasync();
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
