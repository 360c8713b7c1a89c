import { randomUUID } from "node:crypto";
import { Store } from "../sqlite/store.ts";
import { CALL_BYTES, type CallLedger, type Claim, type KeyedCall, type SqliteLedgerOptions } from "./ledger.ts";
import { Patience } from "./patience.ts";
import { Presence } from "./presence.ts";
import { SqliteCalls } from "./sqlite-calls.ts";
import { LEDGER_LAYOUT } from "./sqlite-layout.ts";

const LOOK_FIRST_MS = 10;
/** The file itself may be larger than what is counted: pages are not full, and what was freed is not given back. */
const FILE_FACTOR = 2;
const FILE_LEAST_BYTES = 16 * 1024 * 1024;

const NEVER = new AbortController();

/** A ledger in a file that several processes may have in common, and that outlives them; or in memory. */
export class SqliteLedger implements CallLedger {
  readonly #store: Store<SqliteCalls>;
  /** One for each engine that ever opens the file. */
  readonly #holder = randomUUID();
  readonly #patience = new Patience(LOOK_FIRST_MS);
  readonly #presence = new Presence(async () => {
    await this.#store.use(NEVER, (calls, nowMs) => calls.see(this.#holder, nowMs));
  });

  constructor({ path, ...room }: SqliteLedgerOptions) {
    const rowsBytes = room.maxEntries * CALL_BYTES;
    const maxBytes = FILE_LEAST_BYTES + FILE_FACTOR * (room.maxBytes + rowsBytes);
    this.#store = new Store(
      { path, maxBytes },
      { layout: LEDGER_LAYOUT, open: (database) => new SqliteCalls(database, room) },
    );
  }

  claim(call: KeyedCall, signal: AbortSignal, waitMs?: number): Promise<Claim> {
    return this.#patience.wait(() => this.#claim(call, signal), signal, waitMs);
  }

  async settle(call: KeyedCall, result: string | null): Promise<void> {
    try {
      await this.#store.use(NEVER, (calls, nowMs) => calls.settle(call, this.#holder, result, nowMs));
    } finally {
      this.#presence.end();
    }
  }

  async release(call: KeyedCall): Promise<void> {
    try {
      await this.#store.use(NEVER, (calls) => calls.release(call, this.#holder));
    } finally {
      this.#presence.end();
    }
  }

  ticketOf(): null {
    return null;
  }

  async close(): Promise<void> {
    this.#presence.close();
    try {
      if (this.#presence.isKnown) await this.#store.use(NEVER, (calls) => calls.leave(this.#holder));
    } catch {
      // Then it is missed after a while.
    }
    this.#store.close();
  }

  async #claim(call: KeyedCall, signal: AbortSignal): Promise<Claim> {
    const claim = await this.#store.use({ signal }, (calls, nowMs) => calls.claim(call, this.#holder, nowMs));
    if (claim.kind === "mine") this.#presence.begin();
    return claim;
  }
}
