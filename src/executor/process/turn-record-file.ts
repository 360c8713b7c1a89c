import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMirror, type Turn } from "../../base/protocol/turn-record.ts";

/** Where such a file may lie: memory rather than disk where there is a choice. */
const FOLDERS = ["/dev/shm", tmpdir()];

/**
 * A file without a name that mirrors an executor's turn record: it outlives the process, and says whose turn it was
 * when the process aborted.
 */
export class TurnRecordFile implements Disposable {
  readonly fd: number;
  #open = true;

  private constructor(fd: number) {
    this.fd = fd;
  }

  /** `null` where the system has no place to write: then blame is less certain, and nothing else is lost. */
  static create(): TurnRecordFile | null {
    for (const folder of FOLDERS) {
      try {
        const own = mkdtempSync(join(folder, "glovebox-"));
        try {
          return new TurnRecordFile(openSync(join(own, "turns"), "wx+", 0o600));
        } finally {
          rmSync(own, { recursive: true, force: true });
        }
      } catch {
        continue;
      }
    }
    return null;
  }

  read(workers: number): (Turn | null)[] {
    return readMirror(this.fd, workers);
  }

  [Symbol.dispose](): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.fd);
  }
}
