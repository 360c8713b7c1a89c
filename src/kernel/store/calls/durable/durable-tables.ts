import type { DatabaseSync, StatementSync } from "node:sqlite";
import { SqliteTransaction } from "../../sqlite/store.ts";
import { HOLDER_LOST_MS } from "../ledger.ts";
import {
  type ClaimedCall,
  type DurableAnswer,
  type DurableCall,
  type DurableCapacity,
  type DurableQuery,
  type DurableStep,
  LEGS_MAX,
  type MadeCall,
  type PausedCall,
  SIGNALS_MAX,
} from "./durable-call.ts";
import { bytesOf, COLUMNS, DURABLE_SQL, type DurableRow } from "./durable-layout.ts";
import { DurableWaits } from "./durable-waits.ts";

/** Rows that one step looks at, at most. */
const SETTLED_MAX = 256;
const TENANTS_MAX = 256;
const SWEPT_MAX = 100;
const CURSOR = /^\d{1,15}$/;

type Of<Kind extends DurableStep["kind"]> = Extract<DurableStep, { readonly kind: Kind }>;

/** Durable calls in a database. Each step is one transaction; several may share one. */
export class DurableTables {
  readonly #room: DurableCapacity;
  readonly #transaction: SqliteTransaction;
  readonly #waits: DurableWaits;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync, room: DurableCapacity) {
    database.exec(DURABLE_SQL);
    this.#database = database;
    this.#room = room;
    this.#transaction = new SqliteTransaction(database);
    this.#waits = new DurableWaits((sql) => this.#sql(sql));
  }

  take(steps: readonly DurableStep[]): readonly DurableAnswer[] {
    return this.#transaction.run(() => steps.map((step) => this.#take(step)));
  }

  /** Removes some ended calls that were kept long enough; returns whether there may be more. */
  sweep(nowMs: number): boolean {
    return this.#transaction.run(() => {
      const rows = this.#sql("SELECT n, script FROM durable WHERE state = 'ended' AND ends_ms <= ? LIMIT ?").all(
        nowMs,
        SWEPT_MAX,
      ) as unknown as readonly Pick<DurableRow, "n" | "script">[];
      for (const { n, script } of rows) {
        this.#sql("DELETE FROM durable_wait WHERE call = ?").run(n);
        this.#sql("DELETE FROM durable_signal WHERE call = ?").run(n);
        this.#sql("DELETE FROM durable WHERE n = ?").run(n);
        if (script !== null) {
          const unused =
            "DELETE FROM durable_script WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM durable WHERE script = ?1)";
          this.#sql(unused).run(script);
        }
      }
      this.#sql("DELETE FROM durable_holder WHERE seen_ms < ?").run(nowMs - HOLDER_LOST_MS * 100);
      return rows.length === SWEPT_MAX;
    });
  }

  #sql(sql: string): StatementSync {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) this.#prepared.set(sql, (prepared = this.#database.prepare(sql)));
    return prepared;
  }

  #take(step: DurableStep): DurableAnswer {
    switch (step.kind) {
      case "pause":
        return this.#pause(step);
      case "claim":
        return this.#claim(step);
      case "end":
        return this.#end(step);
      case "release":
        return this.#release(step);
      case "due":
        return this.#due(step);
      case "decide":
        return this.#change(step, (row) => this.#waits.decide(row.n, step.decisions, step.nowMs));
      case "signal":
        return this.#change(step, (row) => this.#signal(row, step));
      case "cancel":
        return this.#cancel(step);
      case "see":
        this.#see(step.holder, step.nowMs);
        return { kind: "done", call: null };
      case "get": {
        const row = this.#row(step.id, step.tenant);
        return row === undefined ? { kind: "missing" } : { kind: "call", call: this.#callOf(row) };
      }
      case "list":
        return this.#list(step.query);
    }
  }

  #pause({ call, nowMs }: Of<"pause">): DurableAnswer {
    const known = this.#row(call.id, null);
    if (known === undefined ? call.made === null : known.state !== "running" || known.leg !== call.leg) return LOST;
    if (known !== undefined && known.leg >= LEGS_MAX)
      return { kind: "full", bound: `a call may go on ${LEGS_MAX} times` };
    const settled = known === undefined ? [] : this.#waits.settledAmong(known.n, call.waits);
    if (known !== undefined && settled.length > 0) {
      this.#waits.hear(known.n);
      return { kind: "settled", waits: settled };
    }
    const bytes = bytesOf(call, known);
    const bound = this.#waits.excessOf(call.waits) ?? this.#boundOf(call, bytes);
    if (bound !== null) return { kind: "full", bound };
    const n = known?.n ?? this.#insert(call, call.made as MadeCall, nowMs);
    const sql =
      "UPDATE durable SET state = 'paused', holder = NULL, own_wake_ms = ?, updated_ms = ?, bytes = ?, journal = ? WHERE n = ?";
    this.#sql(sql).run(call.wakeMs, nowMs, bytes, call.journal, n);
    this.#waits.put(n, call.waits);
    this.#settleAtOnce(n, nowMs);
    this.#arrange(n, nowMs);
    return { kind: "done", call: null };
  }

  #insert({ id, leg, journal }: PausedCall, made: MadeCall, nowMs: number): number {
    const { callId, tool, tenant, key, parent, createdMs, expiresMs, record, script } = made;
    if (script !== null) this.#sql("INSERT OR IGNORE INTO durable_script VALUES (?, ?)").run(script.hash, script.text);
    const sql = `INSERT INTO durable (id, tenant, tool, call_id, key, parent, parent_step, state, leg, created_ms, updated_ms,
      ends_ms, bytes, script, record, journal) VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, 0, ?, ?, ?)`;
    const own = [id, tenant, tool, callId, key, parent?.id ?? null, parent?.step ?? null, leg] as const;
    const { lastInsertRowid } = this.#sql(sql).run(
      ...own,
      createdMs,
      nowMs,
      expiresMs,
      script?.hash ?? null,
      record,
      journal,
    );
    return Number(lastInsertRowid);
  }

  #boundOf({ made }: PausedCall, bytes: number): string | null {
    const { callBytes, perTenant, tenantBytes } = this.#room;
    if (bytes > callBytes) return `what is kept of a call has ${bytes} bytes, and may have ${callBytes}`;
    if (made === null) return null;
    const all = this.#sql("SELECT calls, bytes FROM durable_tenant WHERE tenant = ?").get(made.tenant) as
      { readonly calls: number; readonly bytes: number } | undefined;
    if (all === undefined) return null;
    if (all.calls >= perTenant) return `${perTenant} calls of the tenant wait already`;
    return all.bytes + bytes > tenantBytes ? `calls of the tenant that wait have ${tenantBytes} bytes already` : null;
  }

  /** Signals that came before they were waited for, and child calls that have ended before their parent was stored. */
  #settleAtOnce(n: number, nowMs: number): void {
    for (const { step, wait } of this.#waits.open(n)) {
      if (wait.kind === "signal") this.#hearSignal(n, step, wait.name, nowMs);
      if (wait.kind !== "call") continue;
      const child = this.#sql("SELECT result FROM durable WHERE id = ? AND state = 'ended'").get(wait.id);
      const result = (child as { readonly result: string } | undefined)?.result;
      if (result !== undefined) this.#waits.settle(n, step, "done", { data: JSON.parse(result) as unknown }, nowMs);
    }
  }

  #hearSignal(n: number, step: number, name: string, nowMs: number): void {
    const of = "FROM durable_signal WHERE call = ? AND name = ? ORDER BY seq LIMIT 1";
    const signal = this.#sql(`SELECT seq, sender, payload ${of}`).get(n, name) as
      { readonly seq: number; readonly sender: string | null; readonly payload: string } | undefined;
    if (signal === undefined) return;
    this.#sql("DELETE FROM durable_signal WHERE call = ? AND name = ? AND seq = ?").run(n, name, signal.seq);
    const data = JSON.parse(signal.payload) as unknown;
    this.#waits.settle(n, step, "arrived", { data, by: signal.sender }, nowMs);
  }

  /** A paused call is ready where something is settled that it has not heard, or sleeps until its next wait is due. */
  #arrange(n: number, nowMs: number): void {
    const wakeMs = this.#waits.wakeMs(n);
    const sql = `UPDATE durable SET updated_ms = ?1, state = iif(?2, 'ready', 'paused'),
      wake_ms = min(ends_ms, coalesce(?3, ends_ms), coalesce(own_wake_ms, ends_ms)) WHERE n = ?4 AND state IN ('paused', 'ready')`;
    this.#sql(sql).run(nowMs, this.#waits.hasUnheard(n) ? 1 : 0, wakeMs, n);
  }

  #claim({ id, holder, nowMs }: Of<"claim">): DurableAnswer {
    const row = this.#row(id, null);
    if (row?.state !== "ready") return LOST;
    this.#see(holder, nowMs);
    this.#sql("UPDATE durable SET state = 'running', leg = leg + 1, holder = ?, wake_ms = NULL WHERE n = ?").run(
      holder,
      row.n,
    );
    const long = this.#sql("SELECT record, journal FROM durable WHERE n = ?").get(row.n) as unknown as Pick<
      ClaimedCall,
      "record" | "journal"
    >;
    const waits = this.#waits.all(row.n);
    this.#waits.hear(row.n);
    const script =
      row.script === null
        ? null
        : (this.#sql("SELECT text FROM durable_script WHERE hash = ?").get(row.script) as
            { readonly text: string } | undefined);
    const { tenant, tool, key, parent, created_ms: createdMs, ends_ms: expiresMs } = row;
    const call: ClaimedCall = {
      ...long,
      id,
      leg: row.leg + 1,
      callId: row.call_id,
      tool,
      tenant,
      key,
      createdMs,
      expiresMs,
      waits,
      parent: parent === null ? null : { id: parent, step: row.parent_step ?? 0 },
      script: script?.text ?? null,
    };
    return { kind: "claimed", call };
  }

  #end({ id, leg, result, nowMs }: Of<"end">): DurableAnswer {
    const row = this.#row(id, null);
    if (row?.state !== "running" || row.leg !== leg) return LOST;
    this.#finish(row, result, nowMs);
    return { kind: "done", call: null };
  }

  /** Ends a call, and tells its parent. */
  #finish(row: DurableRow, result: string, nowMs: number): void {
    const sql =
      "UPDATE durable SET state = 'ended', holder = NULL, wake_ms = NULL, updated_ms = ?, ends_ms = ?, result = ? WHERE n = ?";
    this.#sql(sql).run(nowMs, nowMs + this.#room.keepMs, result, row.n);
    this.#waits.voidOpen(row.n, nowMs);
    const parent = row.parent === null ? undefined : this.#row(row.parent, null);
    if (parent === undefined || row.parent_step === null) return;
    const wait = this.#waits.open(parent.n).find(({ step }) => step === row.parent_step);
    if (wait?.wait.kind !== "call" || wait.wait.id !== row.id) return;
    this.#waits.settle(parent.n, row.parent_step, "done", { data: JSON.parse(result) as unknown }, nowMs);
    this.#arrange(parent.n, nowMs);
  }

  #release({ id, leg, nowMs }: Of<"release">): DurableAnswer {
    const sql =
      "UPDATE durable SET state = 'ready', holder = NULL, leg = leg - 1, updated_ms = ? WHERE id = ? AND leg = ? AND state = 'running'";
    return this.#sql(sql).run(nowMs, id, leg).changes === 0 ? LOST : { kind: "done", call: null };
  }

  #cancel({ id, tenant, result, nowMs }: Of<"cancel">): DurableAnswer {
    const row = this.#row(id, tenant);
    if (row === undefined) return { kind: "missing" };
    if (row.state === "running" || row.state === "ended") {
      const message = row.state === "ended" ? "the call has ended" : "the call runs at this moment: try again";
      return { kind: "conflict", message, call: this.#callOf(row) };
    }
    this.#finish(row, result, nowMs);
    return this.#done(id);
  }

  /** Changes waits of a call: `change` gives why it cannot. */
  #change(
    { id, tenant, nowMs }: { readonly id: string; readonly tenant: string | null; readonly nowMs: number },
    change: (row: DurableRow) => string | null,
  ): DurableAnswer {
    const row = this.#row(id, tenant);
    if (row === undefined) return { kind: "missing" };
    const conflict = change(row);
    if (conflict !== null) return { kind: "conflict", message: conflict, call: this.#callOf(row) };
    this.#arrange(row.n, nowMs);
    return this.#done(id);
  }

  #signal({ n, state }: DurableRow, { name, payload, by, nowMs }: Of<"signal">): string | null {
    if (state === "ended") return "the call has ended";
    const unread = this.#sql(
      "SELECT count(*) AS count, coalesce(max(seq), 0) AS last FROM durable_signal WHERE call = ?",
    ).get(n) as {
      readonly count: number;
      readonly last: number;
    };
    if (unread.count >= SIGNALS_MAX) return `the call has ${SIGNALS_MAX} signals that it has not read`;
    this.#sql("INSERT INTO durable_signal VALUES (?, ?, ?, ?, ?)").run(n, name, unread.last + 1, by, payload);
    const wait = this.#waits.open(n).find((one) => one.wait.kind === "signal" && one.wait.name === name);
    // A call that runs hears of it when it waits again.
    if (wait !== undefined) this.#hearSignal(n, wait.step, name, nowMs);
    return null;
  }

  #due({ most, lost, nowMs }: Of<"due">): DurableAnswer {
    const due = this.#sql(
      "SELECT n, ends_ms, own_wake_ms FROM durable WHERE state = 'paused' AND wake_ms <= ? LIMIT ?",
    ).all(nowMs, SETTLED_MAX) as unknown as readonly {
      readonly n: number;
      readonly ends_ms: number;
      readonly own_wake_ms: number | null;
    }[];
    for (const { n, ends_ms, own_wake_ms } of due) {
      this.#waits.settleDue(n, nowMs, ends_ms <= nowMs);
      this.#arrange(n, nowMs);
      if ((own_wake_ms ?? Infinity) <= nowMs)
        this.#sql("UPDATE durable SET state = 'ready', own_wake_ms = NULL WHERE n = ? AND state = 'paused'").run(n);
    }
    const ended = this.#endLost(lost, nowMs);
    const next = this.#sql("SELECT min(wake_ms) AS wakeMs FROM durable WHERE state = 'paused'").get() as {
      readonly wakeMs: number | null;
    };
    return { kind: "ready", ids: this.#ready(most), wakeMs: next.wakeMs, lost: ended };
  }

  /** Ends calls whose runs were lost with their processes. */
  #endLost(lost: string, nowMs: number): readonly string[] {
    const sql = `SELECT ${COLUMNS} FROM durable WHERE state = 'running' AND NOT EXISTS
      (SELECT 1 FROM durable_holder WHERE durable_holder.id = durable.holder AND seen_ms > ?) LIMIT ?`;
    const rows = this.#sql(sql).all(nowMs - HOLDER_LOST_MS, SETTLED_MAX) as unknown as readonly DurableRow[];
    for (const row of rows) {
      const result = JSON.parse(lost) as { readonly metadata: object };
      const metadata = { ...result.metadata, callId: row.call_id, tool: row.tool };
      this.#finish(row, JSON.stringify({ ...result, metadata }), nowMs);
    }
    return rows.map(({ id }) => id);
  }

  /** Ids of calls that are ready: those of each tenant in turn. */
  #ready(most: number): readonly string[] {
    const tenants = this.#sql(
      "SELECT tenant FROM durable WHERE state = 'ready' GROUP BY tenant ORDER BY min(updated_ms) LIMIT ?",
    ).all(TENANTS_MAX) as unknown as readonly { readonly tenant: string }[];
    const each = Math.max(1, Math.ceil(most / Math.max(1, tenants.length)));
    const sql = "SELECT id FROM durable WHERE state = 'ready' AND tenant = ? ORDER BY updated_ms LIMIT ?";
    const ids = tenants.map(({ tenant }) =>
      (this.#sql(sql).all(tenant, each) as unknown as readonly { readonly id: string }[]).map(({ id }) => id),
    );
    return Array.from({ length: each }, (_one, at) => ids.flatMap((of) => of[at] ?? []))
      .flat()
      .slice(0, most);
  }

  #see(holder: string, nowMs: number): void {
    const sql = "INSERT INTO durable_holder VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms";
    this.#sql(sql).run(holder, nowMs);
  }

  #list({ state, tenant, tool, limit, cursor }: DurableQuery): DurableAnswer {
    const before = cursor !== null && CURSOR.test(cursor) ? Number(cursor) : Number.MAX_SAFE_INTEGER;
    const wanted = [
      ...(state === null ? [] : [["state = ?", state] as const]),
      ...(tenant === null ? [] : [["tenant = ?", tenant] as const]),
      ...(tool === null ? [] : [["tool = ?", tool] as const]),
    ];
    const where = ["n < ?", ...wanted.map(([sql]) => sql)].join(" AND ");
    const values = wanted.map(([, value]) => value);
    const rows = this.#sql(`SELECT ${COLUMNS} FROM durable WHERE ${where} ORDER BY n DESC LIMIT ?`).all(
      before,
      ...values,
      limit,
    ) as unknown as readonly DurableRow[];
    const last = rows.length === limit ? rows.at(-1) : undefined;
    const page = { calls: rows.map((row) => this.#callOf(row)), cursor: last === undefined ? null : `${last.n}` };
    return { kind: "page", page };
  }

  #row(id: string, tenant: string | null): DurableRow | undefined {
    const row = this.#sql(`SELECT ${COLUMNS} FROM durable WHERE id = ?`).get(id) as DurableRow | undefined;
    return row !== undefined && (tenant === null || row.tenant === tenant) ? row : undefined;
  }

  #done(id: string): DurableAnswer {
    const row = this.#row(id, null);
    return { kind: "done", call: row === undefined ? null : this.#callOf(row) };
  }

  #callOf(row: DurableRow): DurableCall {
    const { n, id, call_id: callId, tool, tenant, parent: parentId, key, state, leg: legs } = row;
    const text =
      state === "ended"
        ? (this.#sql("SELECT result FROM durable WHERE n = ?").get(n) as { readonly result: string | null }).result
        : null;
    return {
      id,
      callId,
      tool,
      tenant,
      parentId,
      key,
      state,
      legs,
      createdAt: new Date(row.created_ms).toISOString(),
      updatedAt: new Date(row.updated_ms).toISOString(),
      expiresAt: new Date(row.ends_ms).toISOString(),
      waits: this.#waits.all(n),
      result: text === null ? null : (JSON.parse(text) as unknown),
    };
  }
}

const LOST: DurableAnswer = { kind: "lost" };
