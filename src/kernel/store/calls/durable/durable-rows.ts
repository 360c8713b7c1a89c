import type { DatabaseSync } from "node:sqlite";
import { type Prepare, prepareOnce } from "../../sqlite/statements.ts";
import { HOLDER_LOST_MS } from "../ledger.ts";
import {
  CALL_STATES,
  type CallState,
  type ClaimedCall,
  type DurableCapacity,
  type KeptCall,
  type MadeCall,
  type PausedCall,
} from "./durable-call.ts";
import type { CallStanding, DurableAnswer, DurableQuery } from "./durable-step.ts";
import { COLUMNS, type DurableRow } from "./durable-layout.ts";
import { DurableWaits } from "./durable-waits.ts";
import { PastRuns } from "./past-runs.ts";

const TENANTS_MAX = 256;
/** Ended calls that one sweep removes. */
const SWEPT_MAX = 100;
/** Maximum calls that are due and among which one look chooses, each tenant's in turn. */
const DUE_MAX = 20_000;
/** With `INDEXED BY`, as SQLite would read all waiting calls to find the few that are due. */
const IS_WAITING = "state IN ('paused', 'in_doubt')";
/** Maximum ended calls of a tenant that are removed for one more. */
const EVICTED_MAX = 8;
/** Bytes of waits from which a page of a list ends early. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Rows of durable calls: finds, lists and counts them. */
export class DurableRows {
  readonly waits: DurableWaits;
  readonly runs: PastRuns;
  /** A statement, prepared once. */
  readonly sql: Prepare;
  readonly #room: DurableCapacity;

  constructor(database: DatabaseSync, room: DurableCapacity) {
    this.#room = room;
    this.sql = prepareOnce(database);
    this.waits = new DurableWaits(this.sql);
    this.runs = new PastRuns(this.sql);
  }

  /** The call of a tenant; `null` for any tenant's. */
  find(id: string, tenant: string | null): DurableRow | undefined {
    const row = this.sql(`SELECT ${COLUMNS} FROM durable WHERE id = ?`).get(id) as DurableRow | undefined;
    return row !== undefined && (tenant === null || row.tenant === tenant) ? row : undefined;
  }

  /** A call as readers see it. */
  callOf(row: DurableRow, hasResult = row.state === "ended"): KeptCall {
    const { n, id, call_id: callId, tool, tenant, parent: parentId, key, state, leg, unrun, script } = row;
    const result = hasResult
      ? (this.sql("SELECT result FROM durable WHERE n = ?").get(n) as { readonly result: string | null }).result
      : null;
    return {
      id,
      callId,
      tool,
      tenant,
      parentId,
      key,
      state,
      legs: leg - unrun,
      createdAt: new Date(row.created_ms).toISOString(),
      updatedAt: new Date(row.updated_ms).toISOString(),
      expiresAt: new Date(row.ends_ms).toISOString(),
      waits: this.waits.all(n),
      script,
      result,
    };
  }

  /** Adds a call that runs, or is about to pause before its start. */
  insert({ id, leg, runs, plan, journal }: PausedCall, made: MadeCall, nowMs: number): number {
    const { callId, tool, tenant, key, parent, createdMs, expiresMs, undoesOnFailure, record, script, begun } = made;
    if (script !== null) this.sql("INSERT OR IGNORE INTO durable_script VALUES (?, ?)").run(script.hash, script.text);
    const sql = `INSERT INTO durable (id, tenant, tool, call_id, key, parent, parent_step, state, leg, created_ms, updated_ms,
      ends_ms, undoes, script, record, runs, plan, journal) VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const own = [id, tenant, tool, callId, key, parent?.id ?? null, parent?.step ?? null, leg] as const;
    const times = [createdMs, nowMs, expiresMs, undoesOnFailure ? 1 : 0] as const;
    const rest = [script?.hash ?? null, record, runs, plan, journal] as const;
    const n = Number(this.sql(sql).run(...own, ...times, ...rest).lastInsertRowid);
    if (begun !== undefined) this.runs.begin(n, leg, begun.holder, begun.atMs);
    return n;
  }

  /** A call with the data for its next run. */
  claimed(row: DurableRow, readyForMs: number): ClaimedCall {
    const { n, id, leg, call_id: callId, tool, tenant, key, created_ms: createdMs, ends_ms: expiresMs, parent } = row;
    const long = this.sql("SELECT record, runs, plan, journal FROM durable WHERE n = ?").get(n);
    const script = this.sql("SELECT text FROM durable_script WHERE hash = ?").get(row.script) as
      { readonly text: string } | undefined;
    return {
      ...(long as unknown as Pick<ClaimedCall, "record" | "runs" | "plan" | "journal">),
      id,
      leg,
      callId,
      tool,
      tenant,
      key,
      createdMs,
      expiresMs,
      readyForMs,
      waits: this.waits.forRun(n),
      heardWaits: this.waits.heard(n),
      parent: parent === null ? null : { id: parent, step: row.parent_step ?? 0 },
      script: script?.text ?? null,
    };
  }

  /** Numbers of the calls that wait. */
  standing(nowMs: number): CallStanding {
    const numberIn = (state: CallState): number =>
      Number(this.sql("SELECT count(*) AS calls FROM durable WHERE state = ?").get(state)?.["calls"]);
    const openedMs = this.waits.oldestApprovalMs();
    return {
      paused: numberIn("paused"),
      inDoubt: numberIn("in_doubt"),
      oldestApprovalMs: openedMs === null ? null : nowMs - openedMs,
    };
  }

  list(query: DurableQuery): DurableAnswer {
    const rows = [...this.found(query, COLUMNS)] as unknown as readonly DurableRow[];
    let bytes = 0;
    const after = rows.findIndex(({ n }) => (bytes += this.waits.bytes(n)) > PAGE_BYTES);
    // One call at least, however long.
    const shown = after === -1 ? rows : rows.slice(0, Math.max(1, after));
    const last = shown.length === query.limit || shown.length < rows.length ? shown.at(-1) : undefined;
    const calls = shown.map((row) => this.callOf(row, false));
    return { kind: "page", page: { calls, cursor: last === undefined ? null : `${last.n}` } };
  }

  /** Columns of the calls of a list, read one by one. */
  found({ states, tenant, tool, limit, cursor }: DurableQuery, columns: string): Iterable<unknown> {
    const before = cursor === null ? Number.MAX_SAFE_INTEGER : Number(cursor);
    const wanted = [
      ...(tenant === null ? [] : [["tenant = ?", tenant] as const]),
      ...(tool === null ? [] : [["tool = ?", tool] as const]),
    ];
    const where = ["n < ?", ...wanted.map(([sql]) => sql)].join(" AND ");
    const values = [before, ...wanted.map(([, value]) => value)];
    const select = `SELECT ${columns} FROM durable WHERE ${where}`;
    // Each state has its own place in an index: they are merged, and no call is sorted.
    const merged = states ?? (tenant === null ? null : CALL_STATES);
    const selects = merged === null ? select : merged.map(() => `${select} AND state = ?`).join(" UNION ALL ");
    const all = merged === null ? values : merged.flatMap((state) => [...values, state]);
    return this.sql(`${selects} ORDER BY n DESC LIMIT ?`).iterate(...all, limit);
  }

  /** Time at which the clock next settles something, or a process that runs calls may be lost; `null` for never. */
  wakeMs(): number | null {
    const sql = `SELECT min(at) AS wakeMs FROM (
      SELECT min(wake_ms) AS at FROM durable INDEXED BY durable_wake WHERE ${IS_WAITING}
      UNION ALL SELECT min(seen_ms) + ? FROM durable_holder
        WHERE id IN (SELECT holder FROM durable WHERE state = 'running'))`;
    return (this.sql(sql).get(HOLDER_LOST_MS) as { readonly wakeMs: number | null }).wakeMs;
  }

  /** Ids of calls that the clock settles: those of each tenant in turn, earliest first. */
  due(most: number, nowMs: number): readonly string[] {
    // A number of an index costs a fraction of a row: thousands are due at once.
    const first = `SELECT n, tenant, wake_ms FROM durable INDEXED BY durable_wake
      WHERE ${IS_WAITING} AND wake_ms <= ? ORDER BY wake_ms LIMIT ${DUE_MAX}`;
    const turns = `SELECT n, wake_ms, row_number() OVER (PARTITION BY tenant ORDER BY wake_ms) AS turn FROM (${first})`;
    const sql = `SELECT id FROM durable WHERE n IN (SELECT n FROM (${turns}) ORDER BY turn, wake_ms LIMIT ?)`;
    return (this.sql(sql).all(nowMs, most) as unknown as readonly Pick<DurableRow, "id">[]).map(({ id }) => id);
  }

  /** Ids of calls that are ready: those of each tenant in turn. */
  ready(most: number): readonly string[] {
    const tenants = this.sql(
      "SELECT tenant FROM durable INDEXED BY durable_ready WHERE state = 'ready' GROUP BY tenant ORDER BY min(updated_ms) LIMIT ?",
    ).all(TENANTS_MAX) as unknown as readonly { readonly tenant: string }[];
    const each = Math.max(1, Math.ceil(most / Math.max(1, tenants.length)));
    const sql = "SELECT id FROM durable WHERE state = 'ready' AND tenant = ? ORDER BY updated_ms LIMIT ?";
    const ids = tenants.map(({ tenant }) =>
      (this.sql(sql).all(tenant, each) as unknown as readonly { readonly id: string }[]).map(({ id }) => id),
    );
    return inTurns(ids, most);
  }

  /** The limit that a call exceeds, in words. `isNew`: whether it counts as one more of its tenant's. */
  excessOf(n: number, isNew: boolean): string | null {
    const { callBytes, perTenant, tenantBytes } = this.#room;
    const sql = `SELECT durable.bytes AS own, calls, durable_tenant.bytes AS bytes
      FROM durable JOIN durable_tenant USING (tenant) WHERE n = ?`;
    const now = this.sql(sql).get(n) as
      { readonly own: number; readonly calls: number; readonly bytes: number } | undefined;
    if (now === undefined) return null;
    if (now.own > callBytes) return `what is kept of a call has ${now.own} bytes, and may have ${callBytes}`;
    if (isNew && now.calls > perTenant) return `${perTenant} calls of the tenant wait already`;
    return now.bytes > tenantBytes ? `calls of the tenant that wait have ${tenantBytes} bytes already` : null;
  }

  /** Removes some ended calls whose time is over; returns whether there may be more. */
  sweep(nowMs: number): boolean {
    const old = "SELECT n FROM durable INDEXED BY durable_ended WHERE state = 'ended' AND ends_ms <= ? LIMIT ?";
    const { changes } = this.sql(`DELETE FROM durable WHERE n IN (${old})`).run(nowMs, SWEPT_MAX);
    this.sql("DELETE FROM durable_holder WHERE seen_ms < ?").run(nowMs - HOLDER_LOST_MS * 100);
    return changes === SWEPT_MAX;
  }

  /** Removes a tenant's ended calls beyond its room, earliest first, except the one that ends now. */
  makeRoom({ n, tenant }: Pick<DurableRow, "n" | "tenant">): void {
    const { perTenant, tenantBytes } = this.#room;
    const books = this.sql("SELECT ended, ended_bytes FROM durable_tenant WHERE tenant = ?");
    const oldest = `SELECT n FROM durable WHERE state = 'ended' AND tenant = ? AND n <> ? ORDER BY ends_ms LIMIT 1`;
    for (let gone = 0; gone < EVICTED_MAX; gone++) {
      const { ended, ended_bytes: bytes } = books.get(tenant) as {
        readonly ended: number;
        readonly ended_bytes: number;
      };
      if (ended <= perTenant && bytes <= tenantBytes) return;
      if (this.sql(`DELETE FROM durable WHERE n = (${oldest})`).run(tenant, n).changes === 0) return;
    }
  }
}

/** Ids of several tenants: one of each in turn. */
export function inTurns(ids: readonly (readonly string[])[], most: number): readonly string[] {
  const longest = Math.max(0, ...ids.map(({ length }) => length));
  return Array.from({ length: longest }, (_one, at) => ids.flatMap((of) => of[at] ?? []))
    .flat()
    .slice(0, most);
}
