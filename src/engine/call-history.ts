import { type CallFilter, type CallPage, readFilter, type StoredCall } from "../store/calls/call-record.ts";
import type { CallStore, CallStoreStatus } from "../store/calls/call-store.ts";
import { within } from "../base/deadline.ts";
import type { CallKeeper } from "./call/call-keeper.ts";
import { isAmong } from "./execute-options.ts";

/** The calls that an engine has kept, where it has the option `calls`. */
export class CallHistory {
  readonly #store: CallStore | null;

  readonly #keeper: Pick<CallKeeper, "settled"> | null;

  constructor(store: CallStore | null, keeper: Pick<CallKeeper, "settled"> | null) {
    this.#store = store;
    this.#keeper = keeper;
  }

  /**
   * Kept calls, newest first, in pages. Calls that have ended before are among them, unless many wait to be written.
   * Rejects with a `TypeError` where the engine keeps no calls, with a `RangeError` that names a wrong filter, and with a
   * `StoreError` where the store cannot be read.
   */
  async list(filter: CallFilter = {}): Promise<CallPage> {
    const query = readFilter(filter);
    return (await this.#open()).list(query);
  }

  /**
   * The newest call with this id, with its detail if that was kept; `undefined` if no call has it. `tenant`, `tools`: as in
   * a filter. Rejects as `list` does.
   */
  async get(id: string, whose: Pick<CallFilter, "tenant" | "tools"> = {}): Promise<StoredCall | undefined> {
    const { tenant } = readFilter(whose);
    const found = await (await this.#open()).get(String(id).slice(0, ID_MAX), tenant);
    return found !== undefined && isAmong(whose.tools, found.tool) ? found : undefined;
  }

  /** Numbers of calls that were kept and dropped since the engine was created; `undefined` where it keeps no calls. */
  status(): CallStoreStatus | undefined {
    return this.#store?.status();
  }

  /** @internal Resolves when all calls that have ended by now are with the store, or after a second. */
  async settled(): Promise<void> {
    if (this.#keeper !== null) await within(SETTLE_MS, this.#keeper.settled());
  }

  async #open(): Promise<CallStore> {
    await this.settled();
    if (this.#store !== null) return this.#store;
    throw new TypeError("the engine keeps no calls: set its option calls");
  }
}

/** The broker answers at once, unless it is lost. */
const SETTLE_MS = 1_000;
/** Longer than any id. */
const ID_MAX = 1_024;
