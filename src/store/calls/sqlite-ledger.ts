import { randomUUID } from "node:crypto";
import type { DatabaseLayout } from "../sqlite/layout.ts";
import { SqliteStore } from "../sqlite/store.ts";
import {
  CALL_BYTES,
  type CallLedger,
  type ClaimResult,
  type KeyedCall,
  ClaimWaiter,
  HolderHeartbeat,
  type SqliteLedgerOptions,
} from "./ledger.ts";
import { SqliteCalls } from "./sqlite-calls.ts";

const LOOK_FIRST_MS = 10;
/** Size of the file in relation to the counted bytes: pages are not full, and freed pages are not returned. */
const FILE_FACTOR = 2;
const FILE_LEAST_BYTES = 16 * 1024 * 1024;

const NEVER = new AbortController();

/** A ledger in a file, which several processes may share, or in memory. */
export class SqliteLedger implements CallLedger {
  readonly #store: SqliteStore<SqliteCalls>;
  /** Id of this engine as a holder. */
  readonly #holder = randomUUID();
  readonly #patience = new ClaimWaiter(LOOK_FIRST_MS);
  readonly #presence = new HolderHeartbeat(async () => {
    await this.#store.use(NEVER, (calls, nowMs) => calls.see(this.#holder, nowMs));
  });

  constructor({ path, ...room }: SqliteLedgerOptions) {
    const rowsBytes = room.maxEntries * CALL_BYTES;
    const maxBytes = FILE_LEAST_BYTES + FILE_FACTOR * (room.maxBytes + rowsBytes);
    this.#store = new SqliteStore(
      { path, maxBytes },
      { layout: LEDGER_LAYOUT, open: (database) => new SqliteCalls(database, room) },
    );
  }

  claim(call: KeyedCall, signal: AbortSignal, waitMs?: number): Promise<ClaimResult> {
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

  claimOf(): null {
    return null;
  }

  async close(): Promise<void> {
    this.#presence.close();
    try {
      if (this.#presence.isKnown) await this.#store.use(NEVER, (calls) => calls.leave(this.#holder));
    } catch {
      // The missing heartbeat shows the end of this process later.
    }
    this.#store.close();
  }

  async #claim(call: KeyedCall, signal: AbortSignal): Promise<ClaimResult> {
    const claim = await this.#store.use({ signal }, (calls, nowMs) => calls.claim(call, this.#holder, nowMs));
    if (claim.kind === "mine") this.#presence.begin();
    return claim;
  }
}

/**
 * Tables of a ledger. Names, keys and arguments are stored as digests. Triggers keep the sums of ended calls, by tenant
 * and in total; a tenant's row exists as long as it has an ended call. `result` is the last column, so that reading the
 * others does not read through it.
 */
const LEDGER_SQL = `
  CREATE TABLE total (calls INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
  INSERT INTO total VALUES (0, 0);
  CREATE TABLE tenant (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    calls INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX tenant_calls ON tenant (calls);
  CREATE INDEX tenant_bytes ON tenant (bytes);
  CREATE TABLE holder (
    id TEXT PRIMARY KEY,
    seen_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE call (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    asked BLOB NOT NULL,
    holder TEXT NOT NULL,
    may_repeat INTEGER NOT NULL,
    tenant INTEGER,
    expires_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    result TEXT
  ) STRICT;
  CREATE INDEX call_expires ON call (expires_ms);
  CREATE INDEX call_tenant ON call (tenant, expires_ms) WHERE tenant IS NOT NULL;
  CREATE TRIGGER call_ended AFTER UPDATE OF tenant ON call WHEN old.tenant IS NULL AND new.tenant IS NOT NULL BEGIN
    UPDATE tenant SET calls = calls + 1, bytes = bytes + new.bytes WHERE id = new.tenant;
    UPDATE total SET calls = calls + 1, bytes = bytes + new.bytes;
  END;
  CREATE TRIGGER call_deleted AFTER DELETE ON call WHEN old.tenant IS NOT NULL BEGIN
    UPDATE tenant SET calls = calls - 1, bytes = bytes - old.bytes WHERE id = old.tenant;
    DELETE FROM tenant WHERE id = old.tenant AND calls = 0;
    UPDATE total SET calls = calls - 1, bytes = bytes - old.bytes;
  END;
`;

/** `applicationId` is "GbId" in ASCII. */
export const LEDGER_LAYOUT: DatabaseLayout = { applicationId: 0x47_62_49_64, version: 1, sql: LEDGER_SQL };
