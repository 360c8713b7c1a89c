import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { type Prepare, prepareOnce } from "../../sqlite/statements.ts";
import type { DurableRow } from "../durable/durable-layout.ts";
import { codeSql } from "../durable/outbox-tables.ts";

/** Parts in which a call is kept: data that changes together is written together, and a list needs the head alone. */
export const PARTS = ["head", "body", "run"] as const;
export type Part = (typeof PARTS)[number];

/** JSON of the rows of a part; `null` if it was not loaded. */
export type PartTexts = Readonly<Record<Part, string | null>>;

/** Tables with rows of calls, in their column `call`. Those that triggers fill come last. */
const TABLES: readonly (readonly [table: string, part: Part])[] = [
  ["durable_wait", "head"],
  ["durable_signal", "head"],
  ["durable_run", "head"],
  ["durable_line", "run"],
];

/** Long columns of a call, and their placeholders if they are not loaded. The head has all others. */
const LONG: Readonly<Record<Exclude<Part, "head">, Readonly<Record<string, string | null>>>> = {
  body: { result: null, record: "", plan: "", journal: "" },
  run: { runs: "" },
};
const LONG_COLUMNS: ReadonlySet<string> = new Set(Object.values(LONG).flatMap((columns) => Object.keys(columns)));

/** A call's own row, with its values in indexes. */
export interface CallRow extends DurableRow {
  readonly wake_ms: number | null;
  /** Begin of its oldest open approval. */
  readonly approval_ms: number | null;
  /** `ok` or the code of its error; `null` if it has not ended, or its result was not loaded. */
  readonly code: string | null;
}

const END_CODE = codeSql("durable");

type Row = Readonly<Record<string, SQLInputValue>>;
interface PartRows {
  readonly row: Row;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
}

/** Thrown if a call has a column or a table that is not known here. */
export class ForeignRowsError extends Error {
  override readonly name = "ForeignRowsError";
}

/** Rows of calls in a database, by the number of each call: written from parts, and read as parts. */
export class CallRows {
  /** A statement, prepared once. */
  readonly sql: Prepare;
  readonly #columns = new Map<string, readonly string[]>();

  constructor(database: DatabaseSync) {
    this.sql = prepareOnce(database);
    for (const table of ["durable", ...TABLES.map(([name]) => name)]) {
      const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}') ORDER BY cid`).all();
      this.#columns.set(
        table,
        columns.map(({ name }) => String(name)),
      );
    }
  }

  /** Writes calls into empty tables. */
  write(calls: readonly { readonly n: number; readonly parts: PartTexts }[]): void {
    const read = calls.map(({ n, parts }) => [n, PARTS.map((part) => rowsOf(part, parts[part]))] as const);
    for (const [n, parts] of read) {
      const columns = parts.flatMap(({ row }) => Object.entries(row));
      this.#insert("durable", { ...Object.fromEntries(columns), n });
    }
    for (const [table, part] of TABLES) {
      this.sql(`DELETE FROM ${table}`).run();
      for (const [call, parts] of read) {
        for (const row of parts[PARTS.indexOf(part)]?.tables[table] ?? []) this.#insert(table, { ...row, call });
      }
    }
  }

  /** The call's own row, without long columns. */
  rows(): readonly CallRow[] {
    const columns = this.#columnsOf("durable").filter((column) => !LONG_COLUMNS.has(column));
    const approval = `(SELECT min(opened_ms) FROM durable_wait WHERE call = n AND kind = 'approval' AND state = 'open')`;
    const sql = `SELECT ${columns.join(", ")}, ${approval} AS approval_ms, ${END_CODE} AS code FROM durable ORDER BY n`;
    return this.sql(sql).all() as unknown as readonly CallRow[];
  }

  read(part: Part, n: number): string {
    const columns = this.#columnsOf("durable").filter((column) =>
      part === "head" ? column !== "n" && !LONG_COLUMNS.has(column) : column in LONG[part],
    );
    const row = this.sql(`SELECT ${columns.join(", ")} FROM durable WHERE n = ?`).get(n) as Row;
    const tables = TABLES.flatMap(([table, of]) => {
      if (of !== part) return [];
      const shown = this.#columnsOf(table).filter((column) => column !== "call");
      const rows = this.sql(`SELECT ${shown.join(", ")} FROM ${table} WHERE call = ?`).all(n);
      return [[table, rows] as const];
    });
    return JSON.stringify({ row, tables: Object.fromEntries(tables) } satisfies PartRows);
  }

  /** Columns that an earlier version did not have get their defaults. */
  #insert(table: string, row: Row): void {
    const known = this.#columnsOf(table);
    const columns = Object.keys(row);
    const foreign = columns.find((column) => !known.includes(column));
    if (foreign !== undefined) throw new ForeignRowsError(foreign);
    const places = columns.map(() => "?").join(", ");
    this.sql(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`).run(
      ...columns.map((column) => row[column] ?? null),
    );
  }

  #columnsOf(table: string): readonly string[] {
    return this.#columns.get(table) ?? [];
  }
}

function rowsOf(part: Part, text: string | null): PartRows {
  if (text === null) return { row: part === "head" ? {} : LONG[part], tables: {} };
  const rows = JSON.parse(text) as PartRows;
  const foreign = Object.keys(rows.tables).find((name) => !TABLES.some(([table, of]) => table === name && of === part));
  if (foreign !== undefined) throw new ForeignRowsError(foreign);
  return rows;
}
