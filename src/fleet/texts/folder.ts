import { errnoOf } from "../../kernel/base/errno.ts";
import { constants, type Stats } from "node:fs";
import { lstat, open, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import { inTime } from "../../kernel/base/deadline.ts";
import { writeWhole } from "../../kernel/base/os/whole-file.ts";
import { collect, fileNameOf, type TextStore, TextFailure } from "./text-store.ts";

const HOUR_MS = 3_600_000;
/** Age after which an untouched text is removed: a text in use is touched every half hour. */
const KEPT_MS = 30 * 24 * HOUR_MS;
const SWEPT_MAX = 10_000;
const MODE = 0o600;
/** In a folder that others can write to, a link could lead elsewhere, and a pipe would never end. */
const READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const TEXT = /^[0-9a-f]{64}\.text$/;
/** The drafts of `writeWhole`. */
const DRAFT = /^[0-9a-f]{64}\.text\.[0-9a-f-]{36}$/;

/** Texts as files of a folder that servers and machines share, usually a network mount. */
export class FolderStore implements TextStore {
  readonly #path: string;
  readonly #waitMs: number;
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, waitMs: number) {
    this.#path = path;
    this.#waitMs = waitMs;
  }

  async keep(key: string): Promise<boolean> {
    return (await this.#find(key, touch)) ?? false;
  }

  async get(key: string, bytesMax: number): Promise<string | null> {
    return this.#find(key, (file) => read(file, bytesMax));
  }

  put(key: string, stored: string): Promise<void> {
    return this.#ask(async () => {
      await writeWhole(join(this.#path, fileNameOf(key)), stored, MODE);
      if (performance.now() - this.#sweptMs < HOUR_MS) return;
      this.#sweptMs = performance.now();
      // The text is stored; the sweep can be retried in an hour.
      await this.#sweep().catch(() => undefined);
    });
  }

  #find<Answer>(key: string, use: (file: string) => Promise<Answer>): Promise<Answer | null> {
    const file = join(this.#path, fileNameOf(key));
    return this.#ask(async () => {
      try {
        return await use(file);
      } catch (error) {
        if (codeOf(error) === "ENOENT") return null;
        throw error;
      }
    });
  }

  /** Removes unused texts, and temporary files of writers that failed. */
  async #sweep(): Promise<void> {
    const nowMs = Date.now();
    let count = 0;
    for await (const { name } of await opendir(this.#path)) {
      if ((count += 1) > SWEPT_MAX) return;
      const keptMs = TEXT.test(name) ? KEPT_MS : DRAFT.test(name) ? HOUR_MS : Number.POSITIVE_INFINITY;
      if (keptMs === Number.POSITIVE_INFINITY) continue;
      const file = join(this.#path, name);
      // Another server may be sweeping at the same time.
      const state: Stats | null = await lstat(file).catch(() => null);
      if (state?.isFile() === true && nowMs - state.mtimeMs > keptMs) await rm(file, { force: true });
    }
  }

  /** Bounds the wait: a lost file server never answers. */
  async #ask<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      const late = () => new TextFailure("unreachable", "the folder of executor.store does not answer in time");
      return await inTime(this.#waitMs, work(), late);
    } catch (error) {
      if (error instanceof TextFailure) throw error;
      throw new TextFailure("unreachable", `the folder of executor.store cannot be used (${codeOf(error)})`);
    }
  }
}

async function touch(path: string): Promise<boolean> {
  await using file = await open(path, READING);
  if (!(await file.stat()).isFile()) return false;
  const now = new Date();
  await file.utimes(now, now);
  return true;
}

async function read(path: string, bytesMax: number): Promise<string | null> {
  await using file = await open(path, READING);
  if (!(await file.stat()).isFile()) return null;
  return await collect(file.createReadStream({ autoClose: false, end: bytesMax }), bytesMax);
}

function codeOf(error: unknown): string {
  return errnoOf(error) ?? "unknown";
}
