import type { DatabaseSync, StatementSync } from "node:sqlite";
import { SWEPT_MAX, SqliteTransaction } from "../sqlite/store.ts";
import {
  CALL_BYTES,
  type ClaimResult,
  HOLDER_LOST_MS,
  type KeyedCall,
  RESULT_SHARE,
  type LedgerCapacity,
} from "./ledger.ts";

/** Maximum calls evicted for one. */
const EVICTED_MAX = 1_000;
interface CallRow {
  readonly id: number;
  readonly asked: Uint8Array;
  readonly holder: string;
  readonly may_repeat: number;
  readonly tenant: number | null;
  readonly expires_ms: number;
  readonly result: string | null;
}

/** The calls of a database. Each has one holder, and only the holder may record its result. */
export class SqliteCalls {
  readonly #room: LedgerCapacity;
  readonly #transaction: SqliteTransaction;
  readonly #find: StatementSync;
  readonly #seen: StatementSync;
  readonly #see: StatementSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #release: StatementSync;
  readonly #addTenant: StatementSync;
  readonly #settle: StatementSync;
  readonly #total: StatementSync;
  readonly #mostCalls: StatementSync;
  readonly #mostBytes: StatementSync;
  readonly #evict: StatementSync;
  readonly #sweep: StatementSync;
  readonly #sweepHolders: StatementSync;
  readonly #leave: StatementSync;

  constructor(database: DatabaseSync, room: LedgerCapacity) {
    const prepare = (sql: string) => database.prepare(sql);
    this.#room = room;
    this.#transaction = new SqliteTransaction(database);
    this.#find = prepare("SELECT id, asked, holder, may_repeat, tenant, expires_ms, result FROM call WHERE digest = ?");
    this.#seen = prepare("SELECT seen_ms FROM holder WHERE id = ?");
    this.#see = prepare(
      "INSERT INTO holder (id, seen_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET seen_ms = excluded.seen_ms",
    );
    this.#insert = prepare(
      `INSERT INTO call (digest, asked, holder, may_repeat, expires_ms, bytes) VALUES (?, ?, ?, ?, ?, ${CALL_BYTES})`,
    );
    this.#delete = prepare("DELETE FROM call WHERE id = ?");
    this.#release = prepare("DELETE FROM call WHERE digest = ? AND holder = ? AND tenant IS NULL");
    this.#addTenant = prepare(
      "INSERT INTO tenant (digest) VALUES (?) ON CONFLICT DO UPDATE SET calls = calls RETURNING id",
    );
    this.#settle = prepare("UPDATE call SET tenant = ?, expires_ms = ?, bytes = ?, result = ? WHERE id = ?");
    this.#total = prepare("SELECT calls, bytes FROM total");
    this.#mostCalls = prepare("SELECT id, calls, bytes FROM tenant ORDER BY calls DESC LIMIT 1");
    this.#mostBytes = prepare("SELECT id, calls, bytes FROM tenant ORDER BY bytes DESC LIMIT 1");
    this.#evict = prepare(
      "DELETE FROM call WHERE id = (SELECT id FROM call WHERE tenant = ? ORDER BY expires_ms, id LIMIT 1)",
    );
    this.#sweep = prepare(
      `DELETE FROM call WHERE id IN (SELECT id FROM call WHERE expires_ms <= ?
        AND (tenant IS NOT NULL OR NOT EXISTS (SELECT 1 FROM holder WHERE holder.id = call.holder))
        ORDER BY expires_ms LIMIT ${SWEPT_MAX})`,
    );
    this.#sweepHolders = prepare("DELETE FROM holder WHERE abs(? - seen_ms) > ?");
    this.#leave = prepare("DELETE FROM holder WHERE id = ?");
  }

  /** Claims a call for a holder, where it is unknown and no other holder has it. */
  claim(call: KeyedCall, holder: string, nowMs: number): ClaimResult {
    // Look before taking the write lock, which most known calls do not need.
    const known = this.#look(call, holder, nowMs);
    if (known !== null) return known;
    return this.#transaction.run(() => {
      const meanwhile = this.#look(call, holder, nowMs);
      if (meanwhile !== null) return meanwhile;
      const old = this.#find.get(call.digest) as CallRow | undefined;
      if (old !== undefined) this.#delete.run(old.id);
      this.#see.run(holder, nowMs);
      const expiresMs = nowMs + this.#room.ttlMs;
      this.#insert.run(call.digest, call.asked, holder, call.mayRepeat ? 1 : 0, expiresMs);
      return { kind: "mine" };
    });
  }

  /**
   * Records the result of a call, `null` where it cannot be written. Does nothing where the holder no longer holds it.
   */
  settle(call: KeyedCall, holder: string, result: string | null, nowMs: number): void {
    const { maxBytes, ttlMs } = this.#room;
    const length = result === null ? 0 : Buffer.byteLength(result);
    this.#transaction.run(() => {
      const row = this.#find.get(call.digest) as CallRow | undefined;
      if (row === undefined || row.holder !== holder || row.tenant !== null) return;
      const fits = length <= maxBytes * RESULT_SHARE;
      const isKept = this.#makeRoom(CALL_BYTES + (fits ? length : 0)) && fits;
      const bytes = CALL_BYTES + (isKept ? length : 0);
      const { id } = this.#addTenant.get(call.tenant) as { id: number };
      this.#settle.run(id, nowMs + ttlMs, bytes, isKept ? result : null, row.id);
    });
  }

  /** Forgets a call that was not run. */
  release(call: KeyedCall, holder: string): void {
    this.#release.run(call.digest, holder);
  }

  /** Records a heartbeat of a holder. */
  see(holder: string, nowMs: number): void {
    this.#see.run(holder, nowMs);
  }

  /** Removes a holder that ends: calls it has begun and not settled are lost. */
  leave(holder: string): void {
    this.#leave.run(holder);
  }

  /** Removes some expired calls from the file; returns their number. */
  sweep(nowMs: number): number {
    return this.#transaction.run(() => {
      this.#sweepHolders.run(nowMs, HOLDER_LOST_MS);
      return Number(this.#sweep.run(nowMs).changes);
    });
  }

  /** State of a call; `null` where it may be run. */
  #look({ digest, asked }: KeyedCall, holder: string, nowMs: number): ClaimResult | null {
    const row = this.#find.get(digest) as CallRow | undefined;
    if (row === undefined) return null;
    const hasEnded = row.tenant !== null;
    // A holder asks for its own call only after it failed to record the result, so the call is not running.
    const isRunning = !hasEnded && row.holder !== holder && this.#isThere(row.holder, nowMs);
    if (!isRunning && row.expires_ms <= nowMs) return null;
    if (!Buffer.from(asked).equals(row.asked)) return { kind: "conflict" };
    if (isRunning) return { kind: "running" };
    if (!hasEnded) return row.may_repeat === 1 ? null : { kind: "unknown", hasEnded };
    return row.result === null ? { kind: "unknown", hasEnded } : { kind: "kept", result: row.result };
  }

  /** Whether a holder is alive. The absolute difference also covers a clock that was set back. */
  #isThere(holder: string, nowMs: number): boolean {
    const row = this.#seen.get(holder) as { readonly seen_ms: number } | undefined;
    return row !== undefined && Math.abs(nowMs - row.seen_ms) <= HOLDER_LOST_MS;
  }

  /** Evicts calls of the tenant with the largest share, so that no tenant can make another one's calls run twice. */
  #makeRoom(bytes: number): boolean {
    const { maxEntries, maxBytes } = this.#room;
    for (let evicted = 0; ; evicted++) {
      const total = this.#total.get() as { readonly calls: number; readonly bytes: number };
      if (total.calls < maxEntries && total.bytes + bytes <= maxBytes) return true;
      if (evicted === EVICTED_MAX || total.calls === 0) return false;
      this.#evict.run(this.#heaviest());
    }
  }

  #heaviest(): number {
    const weight = ({ calls, bytes }: TenantRow) =>
      Math.max(calls / this.#room.maxEntries, bytes / this.#room.maxBytes);
    const [a, b] = [this.#mostCalls.get() as unknown as TenantRow, this.#mostBytes.get() as unknown as TenantRow];
    return weight(a) >= weight(b) ? a.id : b.id;
  }
}

interface TenantRow {
  readonly id: number;
  readonly calls: number;
  readonly bytes: number;
}
