import { execFile } from "node:child_process";
import { mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);
const ARCHIVE_MAX_BYTES = 256 * 1024 * 1024;
const LOCK = "package-lock.json";

/** The files of another revision, with the packages that it needs. */
export interface Checkout extends AsyncDisposable {
  readonly folder: string;
  /** The revision's commit, abbreviated. */
  readonly commit: string;
}

/** The folder of this revision, as it is, changes included. */
export const OWN = ROOT;

/** Writes a revision's files into a temporary folder. Throws where git knows no such revision. */
export async function checkOut(revision: string, progress: (text: string) => void): Promise<Checkout> {
  const commit = await commitOf(revision);
  const folder = await mkdtemp(join(await realpath(tmpdir()), "glovebox-revision-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const archive = join(folder, "files.tar");
    const options = { cwd: ROOT, encoding: "buffer", maxBuffer: ARCHIVE_MAX_BYTES } as const;
    const { stdout } = await run("git", ["archive", "--format=tar", commit], options);
    await writeFile(archive, stdout);
    await run("tar", ["-xf", archive, "-C", folder]);
    if (await hasSamePackages(folder)) await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    else {
      progress(`installing the packages of ${revision}`);
      await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder });
    }
    return { folder, commit: commit.slice(0, 8), [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function commitOf(revision: string): Promise<string> {
  try {
    const { stdout } = await run("git", ["rev-parse", "--verify", "--end-of-options", `${revision}^{commit}`], {
      cwd: ROOT,
    });
    return stdout.trim();
  } catch {
    throw new RangeError(`git knows no revision "${revision}" here`);
  }
}

async function hasSamePackages(folder: string): Promise<boolean> {
  const [own, other] = await Promise.all([ROOT, folder].map((each) => readFile(join(each, LOCK), "utf8")));
  return own === other;
}
