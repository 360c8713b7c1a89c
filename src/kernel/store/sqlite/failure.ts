import { StoreError } from "../../base/errors.ts";
import { SealError } from "../seal.ts";
import { ForeignStoreError } from "./layout.ts";

/** Primary result codes of SQLite: the lowest byte of an extended code. */
const ERROR = 1;
const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const IO = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const CONSTRAINT = 19;
const NO_DATABASE = 26;

/** Codes of the system for missing rights, or a read-only disk. */
const NOT_PERMITTED = new Set(["EACCES", "EPERM", "EROFS"]);

const BROKEN =
  "is corrupt: its file is not a database, or was damaged; move it away with its -wal and -shm, and a new one is begun";

/** Whether another connection is writing, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === BUSY || code === LOCKED;
}

/** Whether the database connection is still usable after the error. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  return isBusy(error) || code === FULL || code === CONSTRAINT;
}

/** Meaning of a failure for the store. */
export type FailureKind = "busy" | "full" | "corrupt" | "constraint" | "other";

/** `corrupt`: also a file that is no database at all, or whose tables are not those that the engine's SQL names. */
export function kindOf(error: unknown): FailureKind {
  if (isBusy(error)) return "busy";
  switch (codeOf(error)) {
    case FULL:
      return "full";
    case ERROR:
    case CORRUPT:
    case NO_DATABASE:
      return "corrupt";
    case CONSTRAINT:
      return "constraint";
    default:
      return "other";
  }
}

/** Describes a failure to a tool. */
export function describeFailure(error: unknown): StoreError {
  return new StoreError(`the store ${wordsOf(error)}`, { cause: error });
}

function wordsOf(error: unknown): string {
  if (error instanceof ForeignStoreError) return `cannot be used: ${error.message}`;
  if (error instanceof SealError) return "has something that another program has changed, or that is missing in part";
  // Values are written as JSON, so another text was not written by this engine.
  if (error instanceof SyntaxError) return BROKEN;
  const code = codeOf(error);
  switch (code) {
    case undefined:
      return `cannot be opened${systemCodeOf(error)}`;
    case CANNOT_OPEN:
      return "cannot be opened";
    case BUSY:
    case LOCKED:
      return "is locked: another process has had its file locked for too long; end that process";
    case READ_ONLY:
      return "is read-only";
    case FULL:
      return "is full: its disk is full, or its maxBytes is reached";
    case ERROR:
    case CORRUPT:
    case NO_DATABASE:
      return BROKEN;
    case IO:
      return "cannot be read or written";
    default:
      return `failed with SQLite's code ${code}`;
  }
}

function codeOf(error: unknown): number | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "errcode") : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}

/** For example `: ENOTDIR`. The message of such an error has a path. */
function systemCodeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (typeof code !== "string" || !/^E[A-Z0-9]+$/.test(code)) return "";
  return `: ${code}${NOT_PERMITTED.has(code) ? "; let this process's user write its file and its folder" : ""}`;
}
