import { errnoOf } from "../../kernel/base/errno.ts";
import { randomBytes } from "node:crypto";
import { link, lstat, mkdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { ArtifactError } from "./errors.ts";

/** Target folder of artifacts, and whether they may replace existing files. */
export interface ArtifactPlace {
  readonly folder: string;
  readonly force: boolean;
}

const CONTENT_MAX = 16 * 1024 * 1024;

/** Refuses, before the workflow runs, a path outside of the folder or one that exists already. */
export async function requireWritable(given: string, { folder, force }: ArtifactPlace): Promise<void> {
  const target = path.join(await rootOf(folder), insidePath(given));
  await requireInside(await nearest(path.dirname(target)), folder, given);
  const found = await lstat(target).catch(() => null);
  if (found !== null) requireReplaceable(given, found.isDirectory(), force);
}

/**
 * Atomically writes a file in the folder. Rejects with an `ArtifactError` if the path leads out of the folder, if the
 * file exists and `force` is not set, or if it cannot be written.
 */
export async function writeArtifact(given: string, content: string, place: ArtifactPlace): Promise<void> {
  await requireWritable(given, place);
  if (content.length > CONTENT_MAX) throw refusal(given, `it has more than ${CONTENT_MAX} characters`);
  const target = path.join(await rootOf(place.folder), insidePath(given));
  const parent = path.dirname(target);
  const draft = path.join(parent, `.glovebox-${randomBytes(8).toString("hex")}.tmp`);
  try {
    await mkdir(parent, { recursive: true });
    await writeFile(draft, content, { flag: "wx" });
    // `link` fails if a file exists, also one created in the meantime; `rename` replaces it.
    await (place.force ? rename(draft, target) : link(draft, target));
  } catch (error) {
    const code = errnoOf(error) ?? "unknown";
    if (code === "EEXIST") requireReplaceable(given, false, false);
    throw refusal(given, `it cannot be written (${code})`);
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

function requireReplaceable(given: string, isFolder: boolean, force: boolean): void {
  if (isFolder) throw refusal(given, "there is a folder of that name");
  if (!force) throw refusal(given, "it exists already; use --force to overwrite it");
}

function insidePath(given: string): string {
  const normal = path.normalize(given);
  const leadsOut = path.isAbsolute(normal) || normal === ".." || normal.startsWith(`..${path.sep}`);
  if (leadsOut || given.includes("\0")) throw refusal(given, "its path leads out of the folder for artifacts");
  if (normal === "." || normal.endsWith(path.sep)) throw refusal(given, "its path names no file");
  return normal;
}

/** Symbolic links may lead out of the root. */
async function requireInside(folder: string, root: string, given: string): Promise<void> {
  const found = await stat(folder).catch(() => null);
  if (found?.isDirectory() !== true) throw refusal(given, "a folder on its path is not a folder");
  const [real, within] = [await realpath(folder), await rootOf(root)];
  if (real === within || real.startsWith(within.endsWith(path.sep) ? within : within + path.sep)) return;
  throw refusal(given, "its path leads out of the folder for artifacts");
}

async function rootOf(folder: string): Promise<string> {
  return realpath(folder).catch(() => {
    throw new ArtifactError("the folder for artifacts does not exist");
  });
}

/** Nearest existing ancestor, or the folder itself. */
async function nearest(folder: string): Promise<string> {
  const found = await lstat(folder).catch(() => null);
  const above = path.dirname(folder);
  return found !== null || above === folder ? folder : nearest(above);
}

function refusal(given: string, problem: string): ArtifactError {
  return new ArtifactError(`artifact ${given.slice(0, 200)}: ${problem}`);
}
