import { randomUUID } from "node:crypto";
import { SqliteStore } from "../sqlite/store.ts";
import { IN_MEMORY } from "../sqlite/layout.ts";
import type { CallStore } from "./call-store.ts";
import {
  type CallLedger,
  type ClaimResult,
  type KeyedCall,
  ClaimWaiter,
  HolderHeartbeat,
  DOUBTED,
  type LedgerCapacity,
  type TakeStep,
} from "./ledger.ts";
import { doubtedMs, LEDGER_LAYOUT, LedgerTables } from "./ledger-tables.ts";
import type { FileSettings } from "./thread/messages.ts";

const LOOK_FIRST_MS = 10;
/** More than the limits of a ledger allow. */
const MEMORY_MAX_BYTES = 2 ** 43;

const NEVER = new AbortController();

/** A ledger in a file, which several processes may share, or in memory. */
export class SqliteLedger implements CallLedger {
  readonly #take: TakeStep;
  readonly #end: () => void | Promise<void>;
  readonly #isDoubted: () => boolean;
  /** Id of this engine as a holder. */
  readonly #holder = randomUUID();
  readonly #patience = new ClaimWaiter(LOOK_FIRST_MS);
  readonly #presence = new HolderHeartbeat(async () => {
    await this.#take({ kind: "see", holder: this.#holder });
  });

  private constructor(take: TakeStep, end: () => void | Promise<void>, isDoubted = () => false) {
    this.#take = take;
    this.#end = end;
    this.#isDoubted = isDoubted;
  }

  get problem(): string | null {
    return this.#isDoubted() ? DOUBTED : null;
  }

  /** A ledger on a store's thread; `end` runs when it is closed. */
  static in(
    store: CallStore,
    { path, keys }: Pick<FileSettings, "path" | "keys">,
    end: () => void | Promise<void>,
  ): SqliteLedger {
    const isDoubted = (): boolean => Date.now() < doubtedMs(path, keys);
    return new SqliteLedger((step) => store.takeStep(step), end, isDoubted);
  }

  /** A ledger in memory, on the thread that calls it. */
  static inMemory(room: LedgerCapacity): SqliteLedger {
    const store = new SqliteStore(
      { path: IN_MEMORY, maxBytes: MEMORY_MAX_BYTES },
      { layout: LEDGER_LAYOUT, open: (database) => new LedgerTables(database, room) },
    );
    return new SqliteLedger(
      (step) => store.use(NEVER, (tables, nowMs) => tables.take([step], nowMs)[0] ?? null),
      () => store.close(),
    );
  }

  claim(call: KeyedCall, signal: AbortSignal, waitMs?: number): Promise<ClaimResult> {
    return this.#patience.wait(() => this.#claim(call), signal, waitMs);
  }

  async settle(call: KeyedCall, result: string | null): Promise<void> {
    try {
      await this.#take({ kind: "settle", call, holder: this.#holder, result });
    } finally {
      this.#presence.end();
    }
  }

  async release(call: KeyedCall): Promise<void> {
    try {
      await this.#take({ kind: "release", call, holder: this.#holder });
    } finally {
      this.#presence.end();
    }
  }

  claimOf(): null {
    return null;
  }

  async close(): Promise<void> {
    this.#presence.close();
    try {
      if (this.#presence.isKnown) await this.#take({ kind: "leave", holder: this.#holder });
    } catch {
      // Later, the missing heartbeats show the end of this process.
    }
    await this.#end();
  }

  async #claim(call: KeyedCall): Promise<ClaimResult> {
    try {
      const claim = await this.#take({ kind: "claim", call, holder: this.#holder });
      if (claim?.kind === "mine") this.#presence.begin();
      return claim ?? { kind: "running" };
    } catch (error) {
      // The store may still claim the call, and no run would use that claim.
      void this.#forget(call);
      throw error;
    }
  }

  async #forget(call: KeyedCall): Promise<void> {
    try {
      await this.#take({ kind: "release", call, holder: this.#holder });
    } catch {
      // It then stays unknown whether the call has run.
    }
  }
}
