import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";

/** What is in an image: its files' digests by name. It is written last. */
const CONTENTS = "contents.json";
const MAKING = "making-";
/** What nobody has worked on for so long, in milliseconds, nobody will finish. */
const MAKING_MS = 3_600_000;
/** Images of other versions are kept, so many in any case, and those used in this time, in milliseconds: processes of theirs may still run. */
const IMAGES_MAX = 3;
const USED_MS = 24 * 3_600_000;

type Contents = Readonly<Record<string, string>>;

/** Says what is in an image that has been made. */
export async function sealImage(folder: string): Promise<void> {
  await writeFile(path.join(folder, CONTENTS), JSON.stringify(await digestsIn(folder)));
}

/** Whether an image is our own, and is as it was made: what lies in it is run. */
export async function isWhole(folder: string): Promise<boolean> {
  try {
    const about = await lstat(folder);
    if (!about.isDirectory() || about.uid !== process.getuid?.() || (about.mode & 0o022) !== 0) return false;
    const contents = JSON.parse(await readFile(path.join(folder, CONTENTS), "utf8")) as Contents;
    const found = await digestsIn(folder);
    const names = Object.keys(found);
    if (names.length !== Object.keys(contents).length || names.some((name) => contents[name] !== found[name]))
      return false;
    // So that it counts among those that are used.
    await utimes(folder, new Date(), new Date()).catch(() => undefined);
    return true;
  } catch {
    return false;
  }
}

/** Removes what was left half made, and the images that nobody has used for longest. */
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
