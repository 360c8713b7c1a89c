import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Store } from "../capabilities/kv/store.ts";
import { Calls, type Claim, type KeyedCall, type Room } from "./calls.ts";
import { CALL_BYTES, LEDGER_LAYOUT } from "./layout.ts";

export interface LedgerOptions extends Room {
  /** An absolute path, or `:memory:`. */
  readonly path: string;
}

/** How long a call of another process is waited for, and how often it is looked at meanwhile. */
const PATIENCE_MS = 15_000;
const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 500;
/** Calls that may wait for other processes at once. */
const WAITING_MAX = 1_000;
/** How often a process says that it is there, while it has calls. */
const SEEN_EVERY_MS = 2_000;
/** The file itself may be larger than what is counted: pages are not full, and what was freed is not given back. */
const FILE_FACTOR = 2;
const FILE_LEAST_BYTES = 16 * 1024 * 1024;

const NEVER = new AbortController();

/**
 * Which calls with keys there have been, and how they ended: in a file that several processes may have in common, and
 * that outlives them; or in memory. Every method rejects with a `StoreError` where the store cannot do it.
 */
export class Ledger {
  readonly #store: Store<Calls>;
  /** One for each engine that ever opens the file. */
  readonly #holder = randomUUID();
  #begun = 0;
  #waiting = 0;
  #seeing: NodeJS.Timeout | undefined;

  constructor({ path, ...room }: LedgerOptions) {
    const rowsBytes = room.maxEntries * CALL_BYTES;
    const maxBytes = FILE_LEAST_BYTES + FILE_FACTOR * (room.maxBytes + rowsBytes);
    this.#store = new Store(
      { path, maxBytes },
      { layout: LEDGER_LAYOUT, open: (database) => new Calls(database, room) },
    );
  }

  /**
   * What is known of a call. Waits while another process runs it, for as long as the call may wait, and not for ever:
   * then it is `running`. What is `mine` is to be settled or released.
   */
  async claim(call: KeyedCall, signal: AbortSignal, waitMs = PATIENCE_MS): Promise<Claim> {
    const first = await this.#claim(call, signal);
    if (first.kind !== "running" || this.#waiting >= WAITING_MAX) return first;
    this.#waiting++;
    try {
      return await this.#wait(call, signal, waitMs < PATIENCE_MS ? waitMs : PATIENCE_MS);
    } finally {
      this.#waiting--;
    }
  }

  /** Keeps how a call ended, as JSON; `null` where it cannot be written. */
  async settle(call: KeyedCall, result: string | null): Promise<void> {
    try {
      await this.#store.use(NEVER, (calls, nowMs) => calls.settle(call, this.#holder, result, nowMs));
    } finally {
      this.#end();
    }
  }

  /** Forgets a call that did not come to be. */
  async release(call: KeyedCall): Promise<void> {
    try {
      await this.#store.use(NEVER, (calls) => calls.release(call, this.#holder));
    } finally {
      this.#end();
    }
  }

  /** Nothing is to be claimed any more; what is not settled by now never will be. */
  async close(): Promise<void> {
    clearInterval(this.#seeing);
    try {
      if (this.#seeing !== undefined) await this.#store.use(NEVER, (calls) => calls.leave(this.#holder));
    } catch {
      // Then it is missed after a while.
    }
    this.#store.close();
  }

  async #claim(call: KeyedCall, signal: AbortSignal): Promise<Claim> {
    const claim = await this.#store.use({ signal }, (calls, nowMs) => calls.claim(call, this.#holder, nowMs));
    if (claim.kind === "mine") this.#begin();
    return claim;
  }

  async #wait(call: KeyedCall, signal: AbortSignal, waitMs: number): Promise<Claim> {
    const untilMs = performance.now() + waitMs;
    for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      await delay(pauseMs);
      const claim = await this.#claim(call, signal);
      if (claim.kind !== "running" || signal.aborted || performance.now() > untilMs) return claim;
    }
  }

  #begin(): void {
    this.#begun++;
    this.#seeing ??= setInterval(() => void this.#see(), SEEN_EVERY_MS).unref();
  }

  #end(): void {
    this.#begun--;
  }

  async #see(): Promise<void> {
    if (this.#begun === 0) return;
    try {
      await this.#store.use(NEVER, (calls, nowMs) => calls.see(this.#holder, nowMs));
    } catch {
      // Whoever uses the store next is told; the next time may go well.
    }
  }
}
