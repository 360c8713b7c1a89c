import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMirror, type Turn } from "../../base/protocol/turn-record.ts";

/** Folders for the file: memory is preferred over disk. */
const FOLDERS = ["/dev/shm", tmpdir()];

/** An unlinked file that mirrors an executor's turn record: it survives the process, and shows the turns at its end. */
export class TurnRecordFile implements Disposable {
  readonly fd: number;
  #open = true;

  private constructor(fd: number) {
    this.fd = fd;
  }

  /** `null` without a writable folder: then the culprit is less certain; nothing else changes. */
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
