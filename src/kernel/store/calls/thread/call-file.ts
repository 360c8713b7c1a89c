import { closeSync, openSync, readSync, renameSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describeFailure, kindOf, type FailureKind } from "../../sqlite/failure.ts";
import {
  CONNECTION_SETTINGS,
  createFile,
  DAMAGED,
  type DatabaseLayout,
  IN_MEMORY,
  layOut,
} from "../../sqlite/layout.ts";
import { SWEPT_MAX as KEYS_SWEPT_MAX } from "../../sqlite/store.ts";
import { CallReader, CALLS_LAYOUT, CallWriter } from "../call-tables.ts";
import { StoreFailure } from "./call-backend.ts";
import { CALL_BYTES } from "../ledger.ts";
import { doubtedMs, LedgerTables } from "../ledger-tables.ts";
import { DEFAULT_DURABLE } from "../durable/durable-call.ts";
import { DurableTables } from "../durable/durable-tables.ts";
import type { FileSealing } from "../sealed/file-sealing.ts";
import type { SealedLedger } from "../sealed/sealed-ledger.ts";
import type { SealedTables } from "../sealed/sealed-tables.ts";
import { takeEarlierLedger } from "./earlier-ledger.ts";
import type { DropReason, FileSettings } from "./messages.ts";

/** Maximum wait of a list while another process writes the data at its beginning. */
const READ_WAIT_MS = 100;
/** Maximum pieces of sweeping by which one batch makes room. */
const PIECES_MAX = 16;
/** Ratio of file space to counted bytes of a ledger, as pages are not full; and an addition. */
const KEYS_FACTOR = 2;
const KEYS_LEAST_BYTES = 16 * 1024 * 1024;
/** File space of waiting calls: those of several tenants, each within its own limit. */
const DURABLE_BYTES = 8 * 1024 ** 3;

interface Opened {
  readonly database: DatabaseSync;
  readonly readers: DatabaseSync;
  readonly writer: CallWriter;
  readonly reader: CallReader;
  /** Identifies the file, as long as it exists. */
  readonly identity: string;
  /** `null` before its first use. */
  keys: LedgerTables | SealedLedger | null;
  durable: DurableTables | SealedTables | null;
}

/**
 * The file of calls: opened at its first use, and again after a failure. A damaged one is moved aside, and a missing
 * one is replaced: new calls are worth more than kept ones. The damaged file may have contained keys, though: until
 * these would have expired, all processes refuse unknown keys.
 */
export class CallFile {
  readonly #settings: FileSettings;
  readonly #onRenewed: (reason: "corrupt" | "gone") => void;
  readonly #sealing: FileSealing | null;
  #opened: Opened | null = null;
  /** Whether this process has found its own tables in the file. */
  #isOwn = false;

  /** `sealing`: of the secret of its settings. */
  constructor(
    settings: FileSettings,
    onRenewed: (reason: "corrupt" | "gone") => void,
    sealing: FileSealing | null = null,
  ) {
    this.#settings = settings;
    this.#onRenewed = onRenewed;
    this.#sealing = sealing;
  }

  /** Throws a `StoreFailure`. */
  write(work: (writer: CallWriter) => void): void {
    this.#use(({ writer }) => {
      try {
        work(writer);
      } catch (error) {
        // If the disk is full and not the file, kept calls stay.
        if (kindOf(error) !== "full" || !writer.isFilled) throw error;
        for (let piece = 0; piece < PIECES_MAX && writer.makeRoom(); piece++);
        work(writer);
      }
      for (let piece = 0; piece < PIECES_MAX && writer.isFilled; piece++) writer.makeRoom();
    });
  }

  /** Throws a `StoreFailure`. */
  read<T>(work: (reader: CallReader) => T): T {
    return this.#use(({ reader }) => work(reader));
  }

  /** Uses the ledger. Throws a `StoreFailure`. */
  keys<T>(work: (tables: LedgerTables | SealedLedger) => T): T {
    return this.#use((opened) => work((opened.keys ??= this.#openKeys(opened.database))));
  }

  /** Uses durable calls. Throws a `StoreFailure`. */
  durable<T>(work: (tables: DurableTables | SealedTables) => T): T {
    return this.#use((opened) => work((opened.durable ??= this.#openDurable(opened.database))));
  }

  /** Removes some calls and keys that are too old; returns whether there are more. Throws a `StoreFailure`. */
  sweep(nowMs: number): boolean {
    return this.#use(({ writer, keys, durable }) => {
      const isOfCalls = writer.sweep(nowMs);
      const isLeft = durable?.sweep(nowMs) === true || isOfCalls;
      return (keys !== null && keys.sweep(nowMs) === KEYS_SWEPT_MAX) || isLeft;
    });
  }

  /** Bytes in use; 0 while the file is not open. */
  get bytes(): number {
    return this.#opened?.writer.bytes ?? 0;
  }

  close(): void {
    const opened = this.#opened;
    this.#opened = null;
    if (opened?.durable !== null && opened?.durable !== undefined && "close" in opened.durable) opened.durable.close();
    for (const database of new Set([opened?.readers, opened?.database])) {
      try {
        database?.close();
      } catch {
        // A broken database may fail to close.
      }
    }
  }

  #openKeys(database: DatabaseSync): LedgerTables | SealedLedger {
    const { path, keys } = this.#settings;
    // A sealed file takes over nothing in plain text.
    if (this.#sealing === null) takeEarlierLedger(database, path);
    const isDoubted = (nowMs: number): boolean => nowMs < doubtedMs(path, keys);
    const tables = new LedgerTables(database, keys, isDoubted(Date.now()) ? isDoubted : undefined);
    return this.#sealing?.ledger(tables) ?? tables;
  }

  #openDurable(database: DatabaseSync): DurableTables | SealedTables {
    const { durable = DEFAULT_DURABLE } = this.#settings;
    return this.#sealing?.durable(database, durable) ?? new DurableTables(database, durable);
  }

  #use<T>(work: (opened: Opened) => T): T {
    for (let isSecond = false; ; isSecond = true) {
      try {
        return work(this.#open());
      } catch (error) {
        const failed = kindOf(error);
        if (failed !== "busy" && failed !== "full" && failed !== "constraint") this.close();
        // Only then: closing a file releases all locks that the process has on it.
        const kind = failed === "other" && hasUnknownForm(this.#settings.path) ? "corrupt" : failed;
        if (kind === "corrupt" && !isSecond && this.#moveAside()) continue;
        throw new StoreFailure({ reason: reasonOf(kind), message: describeFailure(error).message });
      }
    }
  }

  #open(): Opened {
    const { path } = this.#settings;
    if (this.#opened !== null) {
      if (this.#opened.identity === identityOf(path)) return this.#opened;
      this.close();
      this.#removeSides();
      this.#onRenewed("gone");
    }
    createFile(path);
    const database = new DatabaseSync(path, { timeout: 0 });
    let readers = database;
    try {
      layOut(database, fileBytes(this.#settings), this.#sealing?.layout ?? CALLS_LAYOUT);
      this.#sealing?.check(database);
      if (path !== IN_MEMORY) readers = new DatabaseSync(path, { readOnly: true, timeout: READ_WAIT_MS });
      readers.exec(CONNECTION_SETTINGS);
      const kept = this.#sealing?.kept ?? null;
      const [writer, reader] = [new CallWriter(database, this.#settings, kept), new CallReader(readers, kept)];
      this.#isOwn = true;
      return (this.#opened = {
        database,
        readers,
        writer,
        reader,
        identity: identityOf(path),
        keys: null,
        durable: null,
      });
    } catch (error) {
      if (readers !== database && readers.isOpen) readers.close();
      if (database.isOpen) database.close();
      throw error;
    }
  }

  /** Keeps a damaged file beside the new one, in place of an earlier one. Leaves files of other programs. */
  #moveAside(): boolean {
    const { path } = this.#settings;
    if (path === IN_MEMORY || !(this.#isOwn || isOfLayout(path, this.#sealing?.layout ?? CALLS_LAYOUT))) return false;
    try {
      renameSync(path, path + DAMAGED);
      this.#removeSides();
    } catch {
      return false;
    }
    this.#onRenewed("corrupt");
    return true;
  }

  /** Removes the files of SQLite beside a missing file. */
  #removeSides(): void {
    const { path } = this.#settings;
    if (path === IN_MEMORY || identityOf(path) !== GONE) return;
    for (const side of ["-wal", "-shm"]) rmSync(path + side, { force: true });
  }
}

const GONE = "gone";

/** Size up to which the file grows: neither calls nor keys take the room of the other. */
function fileBytes({ maxBytes, keys }: FileSettings): number {
  return DURABLE_BYTES + maxBytes + KEYS_LEAST_BYTES + KEYS_FACTOR * (keys.maxBytes + keys.maxEntries * CALL_BYTES);
}

function identityOf(path: string): string {
  if (path === IN_MEMORY) return IN_MEMORY;
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? GONE : `${found.dev}:${found.ino}`;
}

/** Length of the head of a database, and the offsets of its file format version and of its application id. */
const HEAD_BYTES = 100;
const FORM_AT = 18;
const APPLICATION_AT = 68;
/** The latest format version of SQLite: a file of a later one would be read-only for ever. */
const FORM_MAX = 2;

/** Whether a file's head says that this engine has made it. */
function isOfLayout(path: string, { applicationId }: DatabaseLayout): boolean {
  return headOf(path)?.readUInt32BE(APPLICATION_AT) === applicationId;
}

/** Whether a file's head is damaged so that SQLite takes it for one of a later version of itself. */
function hasUnknownForm(path: string): boolean {
  return path !== IN_MEMORY && (headOf(path)?.readUInt8(FORM_AT) ?? 0) > FORM_MAX;
}

/** The head of a file; `null` if it has none, or cannot be read. */
function headOf(path: string): Buffer | null {
  const head = Buffer.alloc(HEAD_BYTES);
  try {
    const file = openSync(path, "r");
    const length = readSync(file, head, 0, HEAD_BYTES, 0);
    closeSync(file);
    return length === HEAD_BYTES ? head : null;
  } catch {
    return null;
  }
}

function reasonOf(kind: FailureKind): DropReason {
  switch (kind) {
    case "busy":
      return "locked";
    case "full":
    case "corrupt":
      return kind;
    case "constraint":
    case "other":
      return "unusable";
    default:
      return kind satisfies never;
  }
}
