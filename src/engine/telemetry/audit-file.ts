import { close, closeSync, constants, fstatSync, openSync, readSync, write } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

/** How long what could not be written waits for another try: at first, and at most. */
const RETRY_LEAST_MS = 1;
const RETRY_MOST_MS = 100;
const LINE_FEED = 10;

const closeFile = promisify(close);

/**
 * A file, or a pipe, to which lines are appended. What it does not take now is offered again, from the byte it had come
 * to, until it takes it or nobody wants to wait any more. Opened so that a pipe which nobody reads never holds a thread.
 */
export class AuditFile {
  readonly #file: number;
  /** What goes first: a line that was cut off, by a crash or a full disk, must not swallow the next one. */
  #mend = "";

  /** Throws a `TypeError` where it cannot be opened. */
  constructor(path: string) {
    // A system that does not know one of them has nothing there, which adds nothing.
    const { O_APPEND, O_CREAT, O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    try {
      this.#file = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NONBLOCK | O_NOCTTY, 0o600);
    } catch (error) {
      throw new TypeError("the audit file cannot be opened", { cause: error });
    }
    if (isCutOff(this.#file, path)) this.#mend = "\n";
  }

  /** Answers how many lines of a text were not written in whole, because `isGivenUp` said so. Never rejects. */
  async append(text: string, isGivenUp: () => boolean): Promise<number> {
    let left = Buffer.from(this.#mend + text);
    this.#mend = "";
    let pauseMs = RETRY_LEAST_MS;
    while (left.length > 0) {
      const length = await this.#write(left);
      left = left.subarray(length);
      if (length > 0) {
        pauseMs = RETRY_LEAST_MS;
        continue;
      }
      if (isGivenUp()) return left.reduce((lines, byte) => lines + Number(byte === LINE_FEED), 0);
      // Whoever only waits for this is not kept alive by it.
      await delay(pauseMs, undefined, { ref: false });
      pauseMs = Math.min(2 * pauseMs, RETRY_MOST_MS);
    }
    return 0;
  }

  close(): Promise<void> {
    return closeFile(this.#file).catch(() => undefined);
  }

  /** Answers how many bytes it took: none where the disk is full, or the pipe. */
  #write(bytes: Buffer): Promise<number> {
    return new Promise((resolve) => {
      write(this.#file, bytes, 0, bytes.length, null, (error, written) => resolve(error === null ? written : 0));
    });
  }
}

/** Whether it is a file, not a pipe, whose last line has no end, as far as it may be read. */
function isCutOff(file: number, path: string): boolean {
  const stats = fstatSync(file);
  if (!stats.isFile() || stats.size === 0) return false;
  const last = Buffer.alloc(1);
  try {
    const reader = openSync(path, "r");
    readSync(reader, last, 0, 1, stats.size - 1);
    closeSync(reader);
  } catch {
    return false;
  }
  return last[0] !== LINE_FEED;
}
