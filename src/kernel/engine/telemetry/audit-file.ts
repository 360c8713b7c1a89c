import { close, closeSync, constants, fstatSync, openSync, readSync, write } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { OutageReport, type OutageTold } from "../../store/outage.ts";

/** Delay before a failed write is retried, in milliseconds: first and maximum. */
const RETRY_LEAST_MS = 1;
const RETRY_MOST_MS = 100;
const LINE_FEED = 10;

const closeFile = promisify(close);

/**
 * A file or pipe to which lines are appended. Data that it does not accept is retried from the first unwritten byte
 * until it is written or given up. Opened non-blocking, so that a pipe without a reader never blocks a thread.
 */
export class AuditFile {
  readonly #file: number;
  readonly #outage: OutageReport<string>;
  /**
   * Text to write first: a line feed after a line that a crash or a full disk cut off, so that it does not swallow the
   * next.
   */
  #separator = "";

  /** `told` gets the system's code. Throws a `TypeError` if the file cannot be opened. */
  constructor(path: string, told: OutageTold<string>) {
    this.#outage = new OutageReport(told);
    // A flag that the system lacks is `undefined` and adds nothing.
    const { O_APPEND, O_CREAT, O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    try {
      this.#file = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NONBLOCK | O_NOCTTY, 0o600);
    } catch (error) {
      const { code = "unknown error" } = error as NodeJS.ErrnoException;
      throw new TypeError(`the audit file cannot be opened: ${code}`, { cause: error });
    }
    if (isCutOff(this.#file, path)) this.#separator = "\n";
  }

  /** Resolves with the number of lines not written in full because `isGivenUp` returned true. Never rejects. */
  async append(text: string, isGivenUp: () => boolean): Promise<number> {
    let left = Buffer.from(this.#separator + text);
    this.#separator = "";
    let pauseMs = RETRY_LEAST_MS;
    while (left.length > 0) {
      const length = await this.#write(left);
      left = left.subarray(length);
      if (length > 0) {
        pauseMs = RETRY_LEAST_MS;
        continue;
      }
      if (isGivenUp()) return left.reduce((lines, byte) => lines + Number(byte === LINE_FEED), 0);
      // This delay alone does not keep the process alive.
      await delay(pauseMs, undefined, { ref: false });
      pauseMs = Math.min(2 * pauseMs, RETRY_MOST_MS);
    }
    return 0;
  }

  close(): Promise<void> {
    this.#outage.close();
    return closeFile(this.#file).catch(() => undefined);
  }

  /** Resolves with the number of bytes written: 0 if the disk or the pipe is full. */
  #write(bytes: Buffer): Promise<number> {
    return new Promise((resolve) => {
      write(this.#file, bytes, 0, bytes.length, null, (error, written) => {
        this.#outage.set(error === null ? null : (error.code ?? "unknown error"));
        resolve(error === null ? written : 0);
      });
    });
  }
}

/** Whether the last line of a regular file lacks its line feed; false if the file cannot be read. */
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
