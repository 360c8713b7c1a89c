import type { DatabaseSync } from "node:sqlite";
import { type DatabaseLayout, movedAsideMs } from "../sqlite/layout.ts";
import { prepareAll, type Statements } from "../sqlite/statements.ts";
import { SWEPT_MAX, SqliteTransaction } from "../sqlite/store.ts";
import {
  CALL_BYTES,
  type ClaimResult,
  HOLDER_LOST_MS,
  type KeyedCall,
  type LedgerAnswer,
  type LedgerCapacity,
  type LedgerStep,
  RESULT_SHARE,
} from "./ledger.ts";

/** Maximum calls evicted for one new call. */
const EVICTED_MAX = 1_000;

/**
 * Tables of a ledger. Names, keys and arguments are stored as digests. A tenant's row exists as long as it has an ended
 * call. `result` is the last column, so that reading the others does not read through it.
 */
const TABLES_SQL = `
  CREATE TABLE keyed_total (calls INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
  INSERT INTO keyed_total VALUES (0, 0);
  CREATE TABLE keyed_tenant (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    calls INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE holder (
    id TEXT PRIMARY KEY,
    seen_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE keyed (
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
`;

/** Triggers keep the sums of ended calls, by tenant and in total. */
const RULES_SQL = `
  CREATE INDEX keyed_tenant_calls ON keyed_tenant (calls);
  CREATE INDEX keyed_tenant_bytes ON keyed_tenant (bytes);
  CREATE INDEX keyed_expires ON keyed (expires_ms);
  CREATE INDEX keyed_by_tenant ON keyed (tenant, expires_ms) WHERE tenant IS NOT NULL;
  CREATE TRIGGER keyed_ended AFTER UPDATE OF tenant ON keyed WHEN old.tenant IS NULL AND new.tenant IS NOT NULL BEGIN
    UPDATE keyed_tenant SET calls = calls + 1, bytes = bytes + new.bytes WHERE id = new.tenant;
    UPDATE keyed_total SET calls = calls + 1, bytes = bytes + new.bytes;
  END;
  CREATE TRIGGER keyed_deleted AFTER DELETE ON keyed WHEN old.tenant IS NOT NULL BEGIN
    UPDATE keyed_tenant SET calls = calls - 1, bytes = bytes - old.bytes WHERE id = old.tenant;
    DELETE FROM keyed_tenant WHERE id = old.tenant AND calls = 0;
    UPDATE keyed_total SET calls = calls - 1, bytes = bytes - old.bytes;
  END;
`;

/** "GbId" in ASCII: a ledger without other tables. */
const LEDGER_ID = 0x47_62_49_64;
export const LEDGER_SQL = TABLES_SQL + RULES_SQL;
export const LEDGER_LAYOUT: DatabaseLayout = { applicationId: LEDGER_ID, version: 3, sql: LEDGER_SQL };

/** A ledger in a file of its own, as in earlier versions of the engine, and the SQL that upgrades its tables. */
export const EARLIER_LEDGER: DatabaseLayout = {
  applicationId: LEDGER_ID,
  version: 1,
  sql: `
  DROP INDEX tenant_calls; DROP INDEX tenant_bytes; DROP INDEX call_expires; DROP INDEX call_tenant;
  DROP TRIGGER call_ended; DROP TRIGGER call_deleted;
  ALTER TABLE total RENAME TO keyed_total;
  ALTER TABLE tenant RENAME TO keyed_tenant;
  ALTER TABLE call RENAME TO keyed;
  ${RULES_SQL}`,
};

/**
 * Time until which a key that is not in a file is in doubt, because the file before it was damaged, in milliseconds
 * since 1970; 0 if none was.
 */
export function doubtedMs(path: string, { ttlMs }: Pick<LedgerCapacity, "ttlMs">): number {
  const movedMs = movedAsideMs(path);
  return movedMs === 0 ? 0 : movedMs + ttlMs;
}

/** Such a file after its calls were taken over. Engines of earlier versions refuse it, too. */
export const TAKEN_LEDGER: DatabaseLayout = {
  applicationId: LEDGER_ID,
  version: 2,
  sql: "",
  refusal: "its calls were moved to calls.sqlite beside it, which is the file to name",
};

interface CallRow {
  readonly id: number;
  readonly asked: Uint8Array;
  readonly holder: string;
  readonly may_repeat: number;
  readonly tenant: number | null;
  readonly expires_ms: number;
  readonly result: string | null;
}

const STATEMENTS = {
  find: "SELECT id, asked, holder, may_repeat, tenant, expires_ms, result FROM keyed WHERE digest = ?",
  seen: "SELECT seen_ms FROM holder WHERE id = ?",
  see: "INSERT INTO holder (id, seen_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET seen_ms = excluded.seen_ms",
  insert: `INSERT INTO keyed (digest, asked, holder, may_repeat, expires_ms, bytes) VALUES (?, ?, ?, ?, ?, ${CALL_BYTES})`,
  delete: "DELETE FROM keyed WHERE id = ?",
  release: "DELETE FROM keyed WHERE digest = ? AND holder = ? AND tenant IS NULL",
  addTenant: "INSERT INTO keyed_tenant (digest) VALUES (?) ON CONFLICT DO UPDATE SET calls = calls RETURNING id",
  settle: "UPDATE keyed SET tenant = ?, expires_ms = ?, bytes = ?, result = ? WHERE id = ?",
  total: "SELECT calls, bytes FROM keyed_total",
  mostCalls: "SELECT id, calls, bytes FROM keyed_tenant ORDER BY calls DESC LIMIT 1",
  mostBytes: "SELECT id, calls, bytes FROM keyed_tenant ORDER BY bytes DESC LIMIT 1",
  evict: "DELETE FROM keyed WHERE id = (SELECT id FROM keyed WHERE tenant = ? ORDER BY expires_ms, id LIMIT 1)",
  sweep: `DELETE FROM keyed WHERE id IN (SELECT id FROM keyed WHERE expires_ms <= ?
    AND (tenant IS NOT NULL OR NOT EXISTS (SELECT 1 FROM holder WHERE holder.id = keyed.holder))
    ORDER BY expires_ms LIMIT ${SWEPT_MAX})`,
  sweepHolders: "DELETE FROM holder WHERE abs(? - seen_ms) > ?",
  leave: "DELETE FROM holder WHERE id = ?",
};

/** The calls of a database. Each has one holder, and only the holder may record its result. */
export class LedgerTables {
  readonly #room: LedgerCapacity;
  readonly #isDoubted: (nowMs: number) => boolean;
  readonly #transaction: SqliteTransaction;
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  /** `isDoubted`: whether an unknown key may have been used, as the file before this one was damaged. */
  constructor(database: DatabaseSync, room: LedgerCapacity, isDoubted: (nowMs: number) => boolean = () => false) {
    this.#room = room;
    this.#isDoubted = isDoubted;
    this.#transaction = new SqliteTransaction(database);
    this.#sql = prepareAll(database, STATEMENTS);
  }

  /** Takes steps in their order, all of them or none; returns the states of claimed calls. */
  take(steps: readonly LedgerStep[], nowMs: number): readonly LedgerAnswer[] {
    // Look before taking the write lock, which most known calls do not need.
    const known = steps.map((step) => (step.kind === "claim" ? this.#look(step.call, step.holder, nowMs) : null));
    if (!known.includes(null)) return known;
    const isDurable = steps.some((step) => (step.kind === "claim" || step.kind === "settle") && !step.call.mayRepeat);
    const work = (): readonly LedgerAnswer[] => steps.map((step) => this.#take(step, nowMs));
    // A loss of power must not undo a call that has had effects. It is answered once it is on the disk.
    return isDurable ? this.#transaction.runLasting(work) : this.#transaction.run(work);
  }

  #take(step: LedgerStep, nowMs: number): LedgerAnswer {
    switch (step.kind) {
      case "claim":
        return this.#claim(step.call, step.holder, nowMs);
      case "settle":
        this.#settleCall(step, nowMs);
        return null;
      case "release":
        this.#sql.release.run(step.call.digest, step.holder);
        return null;
      case "see":
        this.#sql.see.run(step.holder, nowMs);
        return null;
      case "leave":
        this.#sql.leave.run(step.holder);
        return null;
      default:
        return step satisfies never;
    }
  }

  /** Claims a call for a holder, if it is unknown and no other holder has it. */
  #claim(call: KeyedCall, holder: string, nowMs: number): ClaimResult {
    const known = this.#look(call, holder, nowMs);
    if (known !== null) return known;
    const old = this.#sql.find.get(call.digest) as CallRow | undefined;
    if (old !== undefined) this.#sql.delete.run(old.id);
    this.#sql.see.run(holder, nowMs);
    this.#sql.insert.run(call.digest, call.asked, holder, call.mayRepeat ? 1 : 0, nowMs + this.#room.ttlMs);
    return { kind: "mine" };
  }

  /** Does nothing if the holder no longer has the call. */
  #settleCall({ call, holder, result }: LedgerStep & { readonly kind: "settle" }, nowMs: number): void {
    const { maxBytes, ttlMs } = this.#room;
    const length = result === null ? 0 : Buffer.byteLength(result);
    const row = this.#sql.find.get(call.digest) as CallRow | undefined;
    // While nobody can claim a key that is not there, the call is that of a file that was lost.
    if (row === undefined && !this.#isDoubted(nowMs)) return;
    if (row !== undefined && (row.holder !== holder || row.tenant !== null)) return;
    const fits = length <= maxBytes * RESULT_SHARE;
    const isKept = this.#makeRoom(CALL_BYTES + (fits ? length : 0)) && fits;
    const bytes = CALL_BYTES + (isKept ? length : 0);
    const { id: tenant } = this.#sql.addTenant.get(call.tenant) as { id: number };
    const id = row?.id ?? this.#sql.insert.run(call.digest, call.asked, holder, 0, nowMs).lastInsertRowid;
    this.#sql.settle.run(tenant, nowMs + ttlMs, bytes, isKept ? result : null, id);
  }

  /** Removes some expired calls from the file; returns their number. */
  sweep(nowMs: number): number {
    return this.#transaction.run(() => {
      this.#sql.sweepHolders.run(nowMs, HOLDER_LOST_MS);
      return Number(this.#sql.sweep.run(nowMs).changes);
    });
  }

  /** State of a call; `null` if it may be run. */
  #look({ digest, asked, mayRepeat }: KeyedCall, holder: string, nowMs: number): ClaimResult | null {
    const row = this.#sql.find.get(digest) as CallRow | undefined;
    if (row === undefined) return mayRepeat || !this.#isDoubted(nowMs) ? null : { kind: "doubted" };
    const hasEnded = row.tenant !== null;
    // A holder claims its own call only after it failed to record the result, so the call is not running.
    const isRunning = !hasEnded && row.holder !== holder && this.#isThere(row.holder, nowMs);
    if (!isRunning && row.expires_ms <= nowMs) return null;
    if (!Buffer.from(asked).equals(row.asked)) return { kind: "conflict" };
    if (isRunning) return { kind: "running" };
    if (!hasEnded) return row.may_repeat === 1 ? null : { kind: "unknown", hasEnded };
    return row.result === null ? { kind: "unknown", hasEnded } : { kind: "kept", result: row.result };
  }

  /** Whether a holder is alive. The absolute difference also covers a clock that was set back. */
  #isThere(holder: string, nowMs: number): boolean {
    const row = this.#sql.seen.get(holder) as { readonly seen_ms: number } | undefined;
    return row !== undefined && Math.abs(nowMs - row.seen_ms) <= HOLDER_LOST_MS;
  }

  /** Evicts calls of the tenant with the largest share, so that no tenant can make another one's calls run twice. */
  #makeRoom(bytes: number): boolean {
    const { maxEntries, maxBytes } = this.#room;
    for (let evicted = 0; ; evicted++) {
      const total = this.#sql.total.get() as { readonly calls: number; readonly bytes: number };
      if (total.calls < maxEntries && total.bytes + bytes <= maxBytes) return true;
      if (evicted === EVICTED_MAX || total.calls === 0) return false;
      this.#sql.evict.run(this.#heaviest());
    }
  }

  #heaviest(): number {
    const weight = ({ calls, bytes }: TenantRow) =>
      Math.max(calls / this.#room.maxEntries, bytes / this.#room.maxBytes);
    const [a, b] = [
      this.#sql.mostCalls.get() as unknown as TenantRow,
      this.#sql.mostBytes.get() as unknown as TenantRow,
    ];
    return weight(a) >= weight(b) ? a.id : b.id;
  }
}

interface TenantRow {
  readonly id: number;
  readonly calls: number;
  readonly bytes: number;
}
