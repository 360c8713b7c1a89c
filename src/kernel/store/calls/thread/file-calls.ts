import type { StoredRow } from "../call-lines.ts";
import type { CallDetail, CallPage, CallPlace, CallQuery, KeptRun, StoredCall } from "../call-record.ts";
import type { CallBackend } from "./call-backend.ts";
import { CallFile } from "./call-file.ts";
import type { FileSettings } from "./messages.ts";

/** Calls in a file. SQLite answers synchronously, and blocks the thread. */
export class FileCalls implements CallBackend {
  readonly patienceMs = 20;
  readonly file: CallFile;

  private constructor(file: CallFile) {
    this.file = file;
  }

  /** Loads the sealing only if there is a secret, from which the key is derived once. */
  static async open(settings: FileSettings, onRenewed: (reason: "corrupt" | "gone") => void): Promise<FileCalls> {
    const { secret } = settings;
    if (secret === undefined) return new FileCalls(new CallFile(settings, onRenewed));
    const { FileSealing } = await import("../sealed/file-sealing.ts");
    return new FileCalls(new CallFile(settings, onRenewed, FileSealing.of(secret)));
  }

  get bytes(): number {
    return this.file.bytes;
  }

  async add(rows: readonly StoredRow[]): Promise<void> {
    this.file.write((writer) => writer.add(rows));
  }

  async list(query: CallQuery): Promise<CallPage> {
    return this.file.read((reader) => reader.list(query));
  }

  async get(id: string, tenant: string | null): Promise<StoredCall | undefined> {
    return this.file.read((reader) => reader.get(id, tenant));
  }

  async run(id: string, tenant: string | null): Promise<KeptRun | undefined> {
    return this.file.read((reader) => reader.run(id, tenant));
  }

  async detail([, seq]: CallPlace): Promise<CallDetail | null> {
    return this.file.read((reader) => reader.detail(seq));
  }

  async sweep(nowMs: number): Promise<boolean> {
    return this.file.sweep(nowMs);
  }

  /** A file does not notify of writes by other processes. */
  watch(): void {}

  async close(): Promise<void> {
    this.file.close();
  }
}
