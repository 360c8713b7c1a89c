import { DatabaseSync } from "node:sqlite";
import type { DurableCapacity } from "../durable/durable-call.ts";
import type { DurableAnswer, DurableStep } from "../durable/durable-step.ts";
import { DURABLE_SQL } from "../durable/durable-layout.ts";
import { DurableTables } from "../durable/durable-tables.ts";
import { type CallRow, CallRows, type PartTexts } from "./call-rows.ts";

/** A call as it was loaded. */
export interface LoadedCall {
  readonly id: string;
  readonly n: number;
  readonly parts: PartTexts;
  /** Time at which its holder was last seen. */
  readonly seenMs: number;
}

/** Numbers and bytes of a tenant's calls. */
export interface TenantBooks {
  readonly calls: number;
  readonly bytes: number;
  readonly ended: number;
  readonly endedBytes: number;
}

/** All data that a step may read. */
export interface StepView {
  readonly calls: readonly LoadedCall[];
  readonly tenant: string;
  readonly books: TenantBooks;
  /** Text of a script by its hash. */
  readonly script: { readonly hash: string; readonly text: string } | null;
}

/** A call that a step has changed. */
export interface ChangedCall {
  readonly row: CallRow;
  readonly head: string;
  /** `null`: unchanged. */
  readonly body: string | null;
  readonly run: string | null;
  readonly isNew: boolean;
}

export interface StepOutcome {
  readonly answer: DurableAnswer;
  readonly changed: readonly ChangedCall[];
  /** Ids of calls that are removed. */
  readonly removed: readonly string[];
}

const NO_BOOKS: TenantBooks = { calls: 0, bytes: 0, ended: 0, endedBytes: 0 };

interface Opened {
  readonly database: DatabaseSync;
  readonly tables: DurableTables;
  readonly rows: CallRows;
}

/**
 * The rules of waiting calls, for calls of another store: these are put into tables of a database in memory, a step is
 * taken there, and its changes are read.
 */
export class PrivateTables {
  readonly #room: DurableCapacity;
  #opened: Opened | null = null;

  constructor(room: DurableCapacity) {
    this.#room = room;
  }

  /** Throws a `ForeignRowsError` if a call is of another version. */
  take(step: DurableStep, view: StepView): StepOutcome {
    const { tables, rows } = (this.#opened ??= this.#open());
    try {
      this.#fill(rows, view);
      const [answer] = tables.take([step]);
      if (answer === undefined) throw new TypeError("a step has no answer");
      return { answer, ...this.#changes(rows, view) };
    } catch (error) {
      this.close();
      throw error;
    } finally {
      if (this.#opened !== null) clear(rows);
    }
  }

  /** The answer to a step that changes nothing, about these calls. Throws a `ForeignRowsError`. */
  read(step: DurableStep, calls: readonly LoadedCall[]): DurableAnswer {
    return this.take(step, { calls, tenant: "", books: NO_BOOKS, script: null }).answer;
  }

  close(): void {
    this.#opened?.database.close();
    this.#opened = null;
  }

  #open(): Opened {
    const database = new DatabaseSync(":memory:");
    database.exec(DURABLE_SQL);
    return { database, tables: new DurableTables(database, this.#room), rows: new CallRows(database) };
  }

  #fill(rows: CallRows, { calls, tenant, books, script }: StepView): void {
    rows.write(calls);
    // Triggers have counted the loaded rows.
    const { bytes, ended, endedBytes } = books;
    const sql =
      "INSERT OR REPLACE INTO durable_tenant (tenant, calls, bytes, ended, ended_bytes) VALUES (?, ?, ?, ?, ?)";
    rows.sql(sql).run(tenant, books.calls, bytes, ended, endedBytes);
    const seen =
      "INSERT OR REPLACE INTO durable_holder SELECT holder, ? FROM durable WHERE n = ? AND holder IS NOT NULL";
    for (const { n, seenMs } of calls) rows.sql(seen).run(seenMs, n);
    if (script !== null) rows.sql("INSERT INTO durable_script VALUES (?, ?)").run(script.hash, script.text);
  }

  #changes(rows: CallRows, { calls }: StepView): Omit<StepOutcome, "answer"> {
    const before = new Map(calls.map((call) => [call.id, call]));
    const changed = rows.rows().flatMap((row): readonly ChangedCall[] => {
      const loaded = before.get(row.id);
      before.delete(row.id);
      const head = rows.read("head", row.n);
      const body = changeOf(rows, "body", row, head, loaded);
      const run = changeOf(rows, "run", row, head, loaded);
      const isSame = head === loaded?.parts.head && body === null && run === null;
      return isSame ? [] : [{ row, head, body, run, isNew: loaded === undefined }];
    });
    return { changed, removed: [...before.keys()] };
  }
}

/** A part as it is now; `null` if it is unchanged. */
function changeOf(
  rows: CallRows,
  part: "body" | "run",
  row: CallRow,
  head: string,
  loaded: LoadedCall | undefined,
): string | null {
  if (loaded === undefined) return rows.read(part, row.n);
  const before = loaded.parts[part];
  // Only the end of a call changes parts that were not loaded.
  if (before === null && (row.state !== "ended" || head === loaded.parts.head)) return null;
  const now = rows.read(part, row.n);
  return now === before ? null : now;
}

function clear(rows: CallRows): void {
  const tables = rows.sql("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'durable%'").all();
  // Triggers remove a call's rows with it, and count: so it is removed first.
  for (const { name } of tables) if (name !== "durable_total") rows.sql(`DELETE FROM ${String(name)}`).run();
  rows.sql("UPDATE durable_total SET bytes = 0").run();
}
