import type { Prepare } from "../../sqlite/statements.ts";
import type { CallRun } from "./durable-call.ts";

/** Maximum runs that are kept of a call: the last ones. */
const RUNS_MAX = 20;

/** Runs of calls, by the numbers that readers know: those that never began are not counted. */
export const RUNS_SQL = `
  CREATE TABLE durable_run (
    call INTEGER NOT NULL, number INTEGER NOT NULL, holder TEXT NOT NULL, begun_ms INTEGER NOT NULL,
    ended_ms INTEGER, outcome TEXT,
    PRIMARY KEY (call, number)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER durable_run_gone AFTER DELETE ON durable BEGIN DELETE FROM durable_run WHERE call = old.n; END;
`;

/** The outcome of a run. */
type RunOutcome = NonNullable<CallRun["outcome"]>;

interface RunRow extends Pick<CallRun, "number" | "holder" | "outcome"> {
  readonly begun_ms: number;
  readonly ended_ms: number | null;
}

/** The reported runs of calls in the tables of `DurableTables`. */
export class PastRuns {
  readonly #sql: Prepare;

  constructor(sql: Prepare) {
    this.#sql = sql;
  }

  /** The last runs of a call, in their order. */
  all(call: number): readonly CallRun[] {
    const sql = "SELECT number, holder, begun_ms, ended_ms, outcome FROM durable_run WHERE call = ? ORDER BY number";
    return (this.#sql(sql).all(call) as unknown as readonly RunRow[]).map(
      ({ number, holder, begun_ms: begunMs, ended_ms: endedMs, outcome }) => {
        const endedAt = endedMs === null ? null : new Date(endedMs).toISOString();
        return { number, holder, begunAt: new Date(begunMs).toISOString(), endedAt, outcome };
      },
    );
  }

  begin(call: number, number: number, holder: string, nowMs: number): void {
    this.#sql("INSERT OR REPLACE INTO durable_run VALUES (?, ?, ?, ?, NULL, NULL)").run(call, number, holder, nowMs);
    this.#sql("DELETE FROM durable_run WHERE call = ? AND number <= ?").run(call, number - RUNS_MAX);
  }

  /** Ends the present run, if there is one. */
  end(call: number, outcome: RunOutcome, nowMs: number): void {
    const sql = "UPDATE durable_run SET ended_ms = ?, outcome = ? WHERE call = ? AND ended_ms IS NULL";
    this.#sql(sql).run(nowMs, outcome, call);
  }

  /** Removes the present run, which never began. */
  drop(call: number): void {
    this.#sql("DELETE FROM durable_run WHERE call = ? AND ended_ms IS NULL").run(call);
  }
}
