import type { CallCells, CallDetail, CallPage, CallPlace, CallQuery, KeptRun, StoredCall } from "../call-record.ts";
import type { TakeDurable } from "../durable/durable-step.ts";
import type { StoredRow } from "../call-lines.ts";
import type { CallRoom } from "../call-tables.ts";
import type { StoreProblem } from "./messages.ts";

/** Thrown if calls cannot be written or read now; a retry may succeed. */
export class StoreFailure extends Error {
  readonly problem: StoreProblem;

  constructor(problem: StoreProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

/**
 * Storage of calls for the store's thread: a file, or a store of a plugin. Methods reject with a `StoreFailure` if it
 * cannot be used now. Another error of `add` means that these rows can never be written.
 */
export interface CallBackend {
  /** Bytes in use, as far as known. */
  readonly bytes: number;
  /** Maximum wait of a list for calls that came before it, in milliseconds. */
  readonly patienceMs: number;
  /** Adds calls. After a failure the same list may be added again, and each of its calls is then kept once. */
  add(rows: readonly StoredRow[]): Promise<void>;
  /** Calls that match, newest first. */
  list(query: CallQuery): Promise<CallPage>;
  /** The newest call with an id; `undefined` if no call has it. `tenant`: `null` for any. */
  get(id: string, tenant: string | null): Promise<StoredCall | undefined>;
  /** Inputs of a replay of that call. */
  run(id: string, tenant: string | null): Promise<KeptRun | undefined>;
  /** `null` if it was not kept, or was removed. */
  detail(place: CallPlace): Promise<CallDetail | null>;
  /** Removes some calls and details that are too old; returns whether there may be more. */
  sweep(nowMs: number): Promise<boolean>;
  /** Reports calls of other processes as these keep them, if the store is notified; `null`: no more. */
  watch(tell: ((calls: readonly CallCells[]) => void) | null): void;
  /** Takes steps of waiting calls, those of one call in their order; absent if calls cannot wait in this store. */
  readonly takeDurable?: TakeDurable;
  close(): Promise<void>;
}

/** Opens a plugin's store on the store's thread. `own`: the options that the store's factory has resolved. */
export type OpenCalls = (own: object, room: CallRoom) => Promise<CallBackend>;
