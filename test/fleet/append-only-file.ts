import { readdir, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { RedisServer } from "../redis-server.ts";

const LOOK_EVERY_MS = 100;

/** Watches how a Redis writes down what it has, so that it can lose the last of it, as it does when its machine loses its power. */
export class AppendOnlyFile implements Disposable {
  readonly #redis: RedisServer;
  /** The file's name, its length and when it had that. */
  readonly #lengths: { readonly file: string; readonly bytes: number; readonly atMs: number }[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(redis: RedisServer) {
    this.#redis = redis;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS);
  }

  /** Forgets what was written in the last `ms`. The server must not run. Answers how many bytes are gone. */
  async forget(ms: number): Promise<number> {
    const untilMs = performance.now() - ms;
    const then = this.#lengths.findLast(({ atMs }) => atMs <= untilMs);
    if (then === undefined) return 0;
    const { size } = await stat(then.file);
    await truncate(then.file, then.bytes);
    this.#lengths.length = 0;
    return size - then.bytes;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const dir = join(this.#redis.dir, "appendonlydir");
    const name = (await readdir(dir)).findLast((each) => each.endsWith(".incr.aof"));
    if (name === undefined) return;
    const file = join(dir, name);
    const { size: bytes } = await stat(file);
    this.#lengths.push({ file, bytes, atMs: performance.now() });
  }
}
