import type { CallCells, CallDetail, CallPage, CallPlace, CallQuery, KeptRun, StoredCall } from "../call-record.ts";
import type { TakeDurable } from "../durable/durable-step.ts";
import type { StoredRow } from "../call-lines.ts";
import type { CallRoom } from "../call-tables.ts";
import type { StoreProblem } from "./messages.ts";

/** Thrown where calls cannot be written or read now, and may be later. */
export class StoreFailure extends Error {
  readonly problem: StoreProblem;

  constructor(problem: StoreProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

/**
 * Where the store's thread keeps calls: a file, or a store of a plugin. Methods reject with a `StoreFailure` where it cannot be used
 * now. Another error of `add` says that these rows can never be written.
 */
export interface CallBackend {
  /** Bytes in use, as far as known. */
  readonly bytes: number;
  /** How long a list waits for calls that came before it, in milliseconds. */
  readonly patienceMs: number;
  /** Adds calls. After a failure the same list may be added again, and each of its calls is then kept once. */
  add(rows: readonly StoredRow[]): Promise<void>;
  /** Calls that match, newest first. */
  list(query: CallQuery): Promise<CallPage>;
  /** The newest call with an id; `undefined` if no call has it. `tenant`: `null` for any. */
  get(id: string, tenant: string | null): Promise<StoredCall | undefined>;
  /** What that call has for a replay. */
  run(id: string, tenant: string | null): Promise<KeptRun | undefined>;
  /** `null` where it was not kept, or is no longer there. */
  detail(place: CallPlace): Promise<CallDetail | null>;
  /** Removes some calls and details that are too old; returns whether there may be more. */
  sweep(nowMs: number): Promise<boolean>;
  /** Tells calls as other processes keep them, where it hears of these; `null` for no more. */
  watch(tell: ((calls: readonly CallCells[]) => void) | null): void;
  /** Takes steps of calls that wait; not there where they cannot wait in this place. Those of one call go in their order. */
  readonly takeDurable?: TakeDurable;
  close(): Promise<void>;
}

/** Opens a plugin's store on the store's thread. `own`: what the store's factory has resolved. */
export type OpenCalls = (own: object, room: CallRoom) => Promise<CallBackend>;
