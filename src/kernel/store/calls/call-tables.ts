import type { DatabaseSync, StatementSync } from "node:sqlite";
import { parseWithDigits } from "../../base/exact-json.ts";
import type { DatabaseLayout } from "../sqlite/layout.ts";
import { prepareAll, type Statements } from "../sqlite/statements.ts";
import { SqliteTransaction } from "../sqlite/store.ts";
import {
  CALL_FORMAT,
  type CallCells,
  type CallDetail,
  type CallPage,
  type CallQuery,
  type CallSummary,
  cursorAfter,
  type KeptRun,
  keptRunOf,
  type StoredCall,
  summaryOf,
} from "./call-record.ts";
import type { StoredRow } from "./call-lines.ts";
import { isMatch } from "./call-match.ts";
import type { WrittenDetail } from "./call-redaction.ts";
import { SealError } from "../seal.ts";
import type { KeptSeal } from "./sealed/kept-seal.ts";
import { DURABLE_SQL, FROM_5_SQL, FROM_6_SQL } from "./durable/durable-layout.ts";
import { EARLIER_LEDGER, LEDGER_SQL, TAKEN_LEDGER } from "./ledger-tables.ts";
import type { DurableCapacity } from "./durable/durable-call.ts";

/** Maximum calls that one list reads: less than 20 ms. */
const SCANNED_MAX = 10_000;
/** Maximum sealed calls that one list opens: some 50 ms. */
const OPENED_MAX = 4_000;
/** Maximum calls, and maximum details, that one piece of sweeping removes. */
const SWEPT_MAX = 256;
/** Share of `maxBytes` from which the oldest calls are removed. */
const FILLED = 0.9;

const FAILED_SQL = "CREATE INDEX call_failed ON call (begin_ms, seq, tool, tenant, code, error) WHERE code <> 'ok';";

/**
 * Tables of calls. `seq` is the order in which they were kept. A list is in the order of `begin_ms`, in an index whose
 * last column is the row's number. The index of failures has all columns by which they are searched, so that a search
 * reads it alone. `json` is the last column, so that reading the others does not read through it.
 */
const CALLS_SQL = `
  CREATE TABLE call (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    tool TEXT NOT NULL,
    version TEXT,
    digest TEXT,
    tenant TEXT NOT NULL,
    parent TEXT,
    surface TEXT NOT NULL,
    key TEXT,
    code TEXT NOT NULL,
    error TEXT,
    begin_ms INTEGER NOT NULL,
    queue_ms REAL NOT NULL,
    wall_ms REAL NOT NULL,
    cpu_ms REAL NOT NULL,
    bytes INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    sampled INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX call_id ON call (id, tenant);
  CREATE INDEX call_begin ON call (begin_ms);
  CREATE INDEX call_tenant ON call (tenant, begin_ms);
  CREATE INDEX call_tool ON call (tool, begin_ms);
  CREATE INDEX call_parent ON call (parent, begin_ms) WHERE parent IS NOT NULL;
  ${FAILED_SQL}
  CREATE TABLE detail (
    call INTEGER PRIMARY KEY,
    begin_ms INTEGER NOT NULL,
    json TEXT NOT NULL,
    run TEXT
  ) STRICT;
  CREATE INDEX detail_begin ON detail (begin_ms);
`;

/** "GbCa" in ASCII. */
const CALLS_ID = 0x47_62_43_61;
/** "GbCs": the same, sealed with a secret. */
export const SEALED_ID = 0x47_62_43_73;
const SEALED =
  "its calls are sealed: set the calls.secret (GLOVEBOX_CALLS_SECRET) with which it was made, or name another file as calls.path";
const CALLS_VERSION = 7;
/** Calls, and the ledger of those with an idempotency key. */
export const CALLS_LAYOUT: DatabaseLayout = {
  applicationId: CALLS_ID,
  version: CALLS_VERSION,
  sql: CALLS_SQL + LEDGER_SQL + DURABLE_SQL,
  earlier: [
    { applicationId: CALLS_ID, version: 6, sql: FROM_6_SQL },
    { applicationId: CALLS_ID, version: 5, sql: FROM_5_SQL },
    { applicationId: CALLS_ID, version: 3, sql: DURABLE_SQL },
    { applicationId: CALLS_ID, version: 2, sql: `DROP INDEX call_failed; ${FAILED_SQL} ${LEDGER_SQL} ${DURABLE_SQL}` },
    { ...EARLIER_LEDGER, sql: EARLIER_LEDGER.sql + CALLS_SQL + DURABLE_SQL },
    TAKEN_LEDGER,
    { applicationId: SEALED_ID, version: CALLS_VERSION, sql: "", refusal: SEALED },
    { applicationId: SEALED_ID, version: 6, sql: "", refusal: SEALED },
  ],
};

/** Limits of kept calls. */
export interface CallRoom {
  readonly maxAgeMs: number;
  readonly detailAgeMs: number;
  readonly maxBytes: number;
  /** Limits of calls that wait. Default: `DEFAULT_DURABLE`. */
  readonly durable?: DurableCapacity;
}

const COLUMNS =
  "id, tool, version, digest, tenant, parent, surface, key, code, error, begin_ms, queue_ms, wall_ms, cpu_ms, bytes, attempts, sampled";

/** Place of `beginMs` in the cells of a row. */
const BEGIN_AT = 10;

const oldest = (table: string, key: string) =>
  `SELECT ${key} FROM ${table} WHERE begin_ms < ? ORDER BY begin_ms LIMIT ${SWEPT_MAX}`;
const WRITING = {
  insert: `INSERT INTO call (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, "?")})`,
  insertDetail: "INSERT INTO detail (call, begin_ms, json, run) VALUES (?, ?, ?, ?)",
  pages: `SELECT (page_count - freelist_count) * page_size - keyed_total.bytes - durable_total.bytes AS bytes
    FROM keyed_total, durable_total, pragma_page_count, pragma_freelist_count, pragma_page_size`,
  forgetOrphans: `DELETE FROM detail WHERE call IN (${oldest("call", "seq")})`,
  forget: `DELETE FROM call WHERE seq IN (${oldest("call", "seq")})`,
  forgetDetails: `DELETE FROM detail WHERE call IN (${oldest("detail", "call")})`,
};

/** Writes the tables of calls. */
export class CallWriter {
  readonly #transaction: SqliteTransaction;
  readonly #room: CallRoom;
  readonly #seal: KeptSeal | null;
  readonly #sql: Statements<keyof typeof WRITING>;

  constructor(database: DatabaseSync, room: CallRoom, seal: KeptSeal | null = null) {
    this.#transaction = new SqliteTransaction(database);
    this.#room = room;
    this.#seal = seal;
    this.#sql = prepareAll(database, WRITING);
  }

  /** Bytes of the file that are in use, except those of the ledger and of durable calls. */
  get bytes(): number {
    return Number(this.#sql.pages.get()?.["bytes"]);
  }

  /** Whether the oldest calls have to be removed. */
  get isFilled(): boolean {
    return this.bytes > FILLED * this.#room.maxBytes;
  }

  /** Adds calls, all or none. */
  add(rows: readonly StoredRow[]): void {
    this.#transaction.run(() => {
      for (const row of rows) {
        const [cells, detail] = this.#seal?.close(row) ?? row;
        const { lastInsertRowid } = this.#sql.insert.run(...cells);
        if (detail === null) continue;
        this.#sql.insertDetail.run(lastInsertRowid, cells[BEGIN_AT], detail.json, detail.run);
      }
    });
  }

  /** Removes some calls and details that are too old; returns whether there may be more. */
  sweep(nowMs: number): boolean {
    const { maxAgeMs, detailAgeMs } = this.#room;
    return this.#remove(nowMs - maxAgeMs, nowMs - detailAgeMs);
  }

  /** Removes the oldest calls and the oldest details, so that neither takes the room of the other. */
  makeRoom(): boolean {
    return this.#remove(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  }

  #remove(callsBeforeMs: number, detailsBeforeMs: number): boolean {
    return this.#transaction.run(() => {
      this.#sql.forgetOrphans.run(callsBeforeMs);
      const calls = this.#sql.forget.run(callsBeforeMs).changes;
      const details = this.#sql.forgetDetails.run(detailsBeforeMs).changes;
      return calls === SWEPT_MAX || details === SWEPT_MAX;
    });
  }
}

type Value = string | number | null;
type Scanned = readonly [seq: number, beginMs: number, isFound: number];

/** Reads the tables of calls. */
export class CallReader {
  readonly #database: DatabaseSync;
  readonly #seal: KeptSeal | null;
  readonly #cells: StatementSync;
  readonly #detail: StatementSync;

  constructor(database: DatabaseSync, seal: KeptSeal | null = null) {
    this.#database = database;
    this.#seal = seal;
    this.#cells = database.prepare(`SELECT ${COLUMNS} FROM call WHERE seq = ?`);
    this.#cells.setReturnArrays(true);
    this.#detail = database.prepare("SELECT json, run FROM detail WHERE call = ?");
  }

  list(query: CallQuery): CallPage {
    return this.#seal === null ? this.#list(query) : this.#listSealed(query, this.#seal);
  }

  /** The newest call with an id; `undefined` if no call has it. */
  get(id: string, tenant: string | null): StoredCall | undefined {
    const [seq, cells] = this.#find(id, tenant) ?? [];
    return cells && { format: CALL_FORMAT, ...summaryOf(cells), detail: this.detail(seq) };
  }

  /** The inputs of a replay of the newest call with an id; `undefined` if no call has it. */
  run(id: string, tenant: string | null): KeptRun | undefined {
    const [seq = 0, cells] = this.#find(id, tenant) ?? [];
    if (cells === undefined) return undefined;
    const summary = summaryOf(cells);
    return keptRunOf(summary, [summary.beginMs, seq], this.#detailOf(seq));
  }

  /** Calls in the order in which they were kept, after a number. */
  rowsAfter(seq: number, limit: number): readonly (readonly [seq: number, row: StoredRow])[] {
    const sql = `SELECT seq, json, run, ${COLUMNS} FROM (SELECT * FROM call WHERE seq > ? ORDER BY seq LIMIT ?)
      LEFT JOIN (SELECT call, json, run FROM detail) ON call = seq ORDER BY seq`;
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    return (statement.all(seq, limit) as unknown as readonly Value[][]).map(([at, json, run, ...row]) => {
      const cells = row as unknown as CallCells;
      const detail = typeof json === "string" ? { json, run: run as string | null } : null;
      if (this.#seal === null) return [Number(at), [cells, detail]];
      return [Number(at), [this.#seal.open(cells), detail && this.#seal.openDetail(cells, detail)]];
    });
  }

  detail(seq = 0): CallDetail | null {
    const found = this.#detailOf(seq);
    return found && (parseWithDigits(found.json) as CallDetail);
  }

  #list(query: CallQuery): CallPage {
    const found: CallSummary[] = [];
    for (const [seq, beginMs, isFound] of this.#scan(query)) {
      if (isFound === 1) found.push(...this.#cellsOf(seq).map(summaryOf));
      if (isFound === 1 && found.length < query.limit) continue;
      return { calls: found, cursor: cursorAfter([beginMs, seq]) };
    }
    return { calls: found, cursor: null };
  }

  /** Lists the others without calls that were changed. */
  #listSealed(query: CallQuery, seal: KeptSeal): CallPage {
    const found: CallSummary[] = [];
    let opened = 0;
    let error: SealError | null = null;
    for (const [seq, beginMs, isFound] of this.#scan(seal.queryOf(query))) {
      try {
        const cells = isFound === 1 ? this.#cellsOf(seq) : [];
        found.push(...cells.filter((one) => isMatch(one, query)).map(summaryOf));
      } catch (one) {
        if (!(one instanceof SealError)) throw one;
        error = one;
      }
      if (isFound === 1 && found.length < query.limit && ++opened < OPENED_MAX) continue;
      return { calls: found, cursor: cursorAfter([beginMs, seq]) };
    }
    if (found.length === 0 && error !== null) throw error;
    return { calls: found, cursor: null };
  }

  #scan(query: CallQuery): Iterable<Scanned> {
    const { sql, values } = scanOf(query, this.#seal !== null);
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    return statement.iterate(...values) as Iterable<unknown> as Iterable<Scanned>;
  }

  #find(id: string, tenant: string | null): readonly [seq: number, cells: CallCells] | undefined {
    const sql = `SELECT max(seq) AS seq FROM call WHERE id = ?${tenant === null ? "" : " AND tenant = ?"}`;
    const names = this.#seal?.namesOf(id, tenant) ?? (tenant === null ? [id] : [id, tenant]);
    const seq = this.#database.prepare(sql).get(...names)?.["seq"];
    if (typeof seq !== "number") return undefined;
    const [cells] = this.#cellsOf(seq);
    return cells && [seq, cells];
  }

  #cellsOf(seq: number): readonly CallCells[] {
    const row = this.#cells.get(seq) as unknown as CallCells | undefined;
    return row === undefined ? [] : [this.#seal?.open(row) ?? row];
  }

  #detailOf(seq: number): WrittenDetail | null {
    const { json, run } = this.#detail.get(seq) ?? {};
    // A damaged file may have any text there: it has no detail then.
    if (typeof json !== "string") return null;
    const detail = { json, run: run as string | null };
    const row = this.#seal === null ? undefined : (this.#cells.get(seq) as unknown as CallCells | undefined);
    return row === undefined ? detail : (this.#seal?.openDetail(row, detail) ?? null);
  }
}

/**
 * Finds the matching calls among those that a list reads, in the order of the list, and after them the last call that
 * it has read, if there may be more. SQLite stops at the last call that is taken. One index narrows the search: that of
 * failures, which are few, else that of the calling call, of the tenant or of the tool.
 */
function scanOf(query: CallQuery, isSealed: boolean): { readonly sql: string; readonly values: readonly Value[] } {
  const { tool, tenant, parent, code, sinceMs, untilMs, text, tools, after } = query;
  const isOfFailures = text !== null || (code !== null && code !== "ok");
  const [index, narrowed, named]: readonly [string, string, readonly Value[]] = isOfFailures
    ? ["call_failed", "code <> 'ok'", []]
    : parent !== null
      ? ["call_parent", "parent = ?", [parent]]
      : tenant !== null
        ? ["call_tenant", "tenant = ?", [tenant]]
        : tool !== null
          ? ["call_tool", "tool = ?", [tool]]
          : ["call_begin", "TRUE", []];
  const fits: (readonly [column: string, sql: string, value: Value])[] = [];
  if (tool !== null) fits.push(["tool", "tool = ?", tool]);
  if (tenant !== null) fits.push(["tenant", "tenant = ?", tenant]);
  if (parent !== null) fits.push(["parent", "parent = ?", parent]);
  if (code !== null) fits.push(["code", "code = ?", code]);
  if (text !== null && !isSealed) fits.push(["error", "instr(lower(error), lower(?)) > 0", text]);
  if (tools !== null && !isSealed) fits.push(["tool", AMONG, JSON.stringify(tools)]);
  const isAfter = after === null ? "" : "AND (begin_ms, seq) < (?, ?)";
  const scan = (columns: ReadonlySet<string>) => `SELECT ${[...columns].join(", ")}
    FROM call INDEXED BY ${index} WHERE ${narrowed} AND begin_ms BETWEEN ? AND ? ${isAfter}
    ORDER BY begin_ms DESC, seq DESC`;
  const place = ["seq", "begin_ms"];
  const sql = `SELECT seq, begin_ms, TRUE
    FROM (${scan(new Set([...place, ...fits.map(([column]) => column)]))} LIMIT ${SCANNED_MAX})
    WHERE ${["TRUE", ...fits.map(([, one]) => one)].join(" AND ")}
    UNION ALL SELECT seq, begin_ms, FALSE FROM (${scan(new Set(place))} LIMIT 1 OFFSET ${SCANNED_MAX - 1})`;
  // SQLite finds the place in the index by the first of two values only.
  const lastMs = Math.min(untilMs, after?.[0] ?? untilMs);
  const scanned = [...named, sinceMs, lastMs, ...(after ?? [])];
  return { sql, values: [...scanned, ...fits.map(([, , value]) => value), ...scanned] };
}

/** Whether the tool is in a list of names, each of which may end in `*`. */
const AMONG = `EXISTS (SELECT 1 FROM json_each(?) WHERE value = tool
  OR (value LIKE '%*' AND substr(tool, 1, length(value) - 1) = substr(value, 1, length(value) - 1)))`;
