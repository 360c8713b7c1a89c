import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf } from "../../base/errno.ts";
import { describeFailure } from "../sqlite/failure.ts";
import { IN_MEMORY } from "../sqlite/layout.ts";
import type { StoreProblem } from "./thread/messages.ts";

/** Interval at which a file that could not be written is checked again. */
const AGAIN_MS = 1_000;

/**
 * The reason for which a file of calls could not be written, as far as its rights and those of its folder show; `null`
 * if it could. Creates nothing.
 */
export async function writeProblemOf(path: string): Promise<StoreProblem | null> {
  if (path === IN_MEMORY) return null;
  try {
    await isThere(path, constants.R_OK | constants.W_OK);
    // SQLite has files beside it, and a folder that is missing is created.
    let folder = dirname(path);
    while (!(await isThere(folder, constants.W_OK | constants.X_OK))) folder = dirname(folder);
    return null;
  } catch (error) {
    return { reason: "unusable", message: describeFailure(error).message };
  }
}

/** Rejects if it exists and these rights are missing. */
async function isThere(path: string, rights: number): Promise<boolean> {
  try {
    await access(path, rights);
    return true;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || path === dirname(path)) throw error;
    return false;
  }
}

/** Checks a file that is not open yet, and again while it could not be written: the first call would report it late. */
export class FileProbe {
  readonly #path: string;
  readonly #tell: (problem: StoreProblem | null, before: StoreProblem | null) => void;
  #problem: StoreProblem | null = null;
  #again: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `tell`: also gets the finding before, which another source may have replaced. */
  constructor(path: string, tell: (problem: StoreProblem | null, before: StoreProblem | null) => void) {
    this.#path = path;
    this.#tell = tell;
    void this.#look();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#again);
  }

  async #look(): Promise<void> {
    const problem = await writeProblemOf(this.#path);
    if (this.#isClosed) return;
    const before = this.#problem;
    this.#problem = problem;
    this.#tell(problem, before);
    if (problem !== null) this.#again = setTimeout(() => void this.#look(), AGAIN_MS).unref();
  }
}
