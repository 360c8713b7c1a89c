import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";

/** The digests of an image's files, keyed by name. Written last. */
const CONTENTS = "contents.json";
const MAKING = "making-";
/** Age at which an unfinished image counts as abandoned, in milliseconds. */
const MAKING_MS = 3_600_000;
/**
 * Images of other versions are kept up to this number, and in any case while used within this time in milliseconds:
 * processes of those versions may still run.
 */
const IMAGES_MAX = 3;
const USED_MS = 24 * 3_600_000;

type Contents = Readonly<Record<string, string>>;

/** Writes the digests of a finished image. */
export async function sealImage(folder: string): Promise<void> {
  await writeFile(path.join(folder, CONTENTS), JSON.stringify(await digestsIn(folder)));
}

/** Whether an image is owned by this user and unchanged since it was made: its content is executed. */
export async function isWhole(folder: string): Promise<boolean> {
  try {
    const about = await lstat(folder);
    if (!about.isDirectory() || about.uid !== process.getuid?.() || (about.mode & 0o022) !== 0) return false;
    const contents = JSON.parse(await readFile(path.join(folder, CONTENTS), "utf8")) as Contents;
    const found = await digestsIn(folder);
    const names = Object.keys(found);
    if (names.length !== Object.keys(contents).length || names.some((name) => contents[name] !== found[name]))
      return false;
    // Marks the image as used, for `sweepImages`.
    await utimes(folder, new Date(), new Date()).catch(() => undefined);
    return true;
  } catch {
    return false;
  }
}

/** Removes abandoned images and the least recently used ones. */
export async function sweepImages(cache: string, current: string): Promise<void> {
  const found: { readonly folder: string; readonly usedMs: number }[] = [];
  for (const name of await readdir(cache)) {
    const folder = path.join(cache, name);
    const usedMs = (await lstat(folder).catch(() => null))?.mtimeMs ?? 0;
    if (name.startsWith("python-") && folder !== current) found.push({ folder, usedMs });
    if (name.startsWith(MAKING) && Date.now() - usedMs > MAKING_MS) await rm(folder, { recursive: true, force: true });
  }
  found.sort((one, other) => other.usedMs - one.usedMs);
  for (const { folder, usedMs } of found.slice(IMAGES_MAX - 1)) {
    if (Date.now() - usedMs > USED_MS) await rm(folder, { recursive: true, force: true });
  }
}

async function digestsIn(folder: string): Promise<Contents> {
  const names = (await readdir(folder)).filter((name) => name !== CONTENTS).sort();
  const entries = names.map(async (name) => {
    const hash = createHash("sha256");
    await pipeline(createReadStream(path.join(folder, name)), hash);
    return [name, hash.digest("hex")] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
