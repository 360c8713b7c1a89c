import { type JournalPart, planOf, type RecordedJournal, withPart } from "../../../base/protocol/recorded-journal.ts";
import { HOLDER_LOST_MS } from "../ledger.ts";
import type { KeptPast, MadeCall, PausedCall } from "./durable-call.ts";
import { COLUMNS, type DurableRow, WEIGH_SQL } from "./durable-layout.ts";
import type { DurableRows } from "./durable-rows.ts";
import { journalAsks, withoutAnswers } from "./journal-asks.ts";
import { MAY_UNDO } from "./undone-calls.ts";

/** Maximum length of a record that readers of its program get. */
const RECORD_MAX = 256 * 1024;
const NO_JOURNAL: RecordedJournal = { asks: [], answers: [] };

/** An addition of a run to the journal with which it began. */
interface Line {
  readonly begins: number | null;
  readonly part: string | null;
}

/**
 * Recovers calls whose runs were lost, from their stored additions. All capability calls and answers are in the journal
 * of the next run. An effect that was announced and not answered may have happened, or not: a person has to say.
 */
export class LostRuns {
  readonly #rows: DurableRows;

  constructor(rows: DurableRows) {
    this.#rows = rows;
  }

  /** Records that a process with running calls is alive. */
  see(holder: string, nowMs: number): void {
    const sql = "INSERT INTO durable_holder VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms";
    this.#rows.sql(sql).run(holder, nowMs);
  }

  /** Calls whose processes were not seen for too long. */
  found(most: number, nowMs: number): readonly DurableRow[] {
    const sql = `SELECT ${COLUMNS} FROM durable WHERE state = 'running' AND NOT EXISTS
      (SELECT 1 FROM durable_holder WHERE durable_holder.id = durable.holder AND seen_ms > ?) LIMIT ?`;
    return this.#rows.sql(sql).all(nowMs - HOLDER_LOST_MS, most) as unknown as readonly DurableRow[];
  }

  /** Makes a `running` call `ready`, or `in_doubt`. */
  recover({ n, ends_ms: endsMs, lost }: DurableRow, nowMs: number): void {
    const lines = this.#linesOf(n);
    const journal = this.#journalWith(n, lines);
    const answered = new Set(journal.answers.map(({ step }) => step));
    for (const step of this.#awaited(n)) answered.add(step);
    const begun = new Set(lines.flatMap(({ begins }) => (begins === null || answered.has(begins) ? [] : [begins])));
    for (const step of begun) {
      const ask = journal.asks[step - 1];
      const asked = ask === undefined ? "an effect" : `${ask.capability}.${ask.method}`;
      const wait = { kind: "outcome", asked, arguments: ask?.args ?? "" } as const;
      this.#rows.waits.add(n, { step, wait, openedMs: nowMs, expiresMs: null });
    }
    this.#put(n, journal);
    this.forget(n);
    const sql = `UPDATE durable SET state = ?, holder = NULL, lost = ?, updated_ms = ?, wake_ms = ? WHERE n = ?`;
    if (begun.size === 0) this.#rows.sql(sql).run("ready", lost + 1, nowMs, null, n);
    else this.#rows.sql(sql).run("in_doubt", lost + 1, nowMs, endsMs, n);
  }

  /** Steps of its child calls that are stored: these continue by themselves, and it waits for their ends. */
  #awaited(n: number): readonly number[] {
    const waits = this.#rows.waits.all(n);
    return waits.flatMap(({ kind, state, step }) => (kind === "call" && state !== "void" ? [step] : []));
  }

  /** Whether the run that has made a call was lost, so that nothing may begin on its behalf any more. */
  isOrphaned({ parent }: MadeCall): boolean {
    const row = parent === null ? undefined : this.#rows.find(parent.id, null);
    if (parent?.leg === undefined || row === undefined || row.state === "ended") return false;
    return row.leg !== parent.leg || row.state !== "running";
  }

  /** Has the running parent of a stored call wait for it, even if the parent is lost before it pauses. */
  awaitBelow({ id, made }: PausedCall, nowMs: number): void {
    const parent = made?.parent ?? null;
    const row = parent === null ? undefined : this.#rows.find(parent.id, null);
    if (parent === null || row?.state !== "running") return;
    const wait = { kind: "call", id } as const;
    this.#rows.waits.add(row.n, { step: parent.step, wait, openedMs: nowMs, expiresMs: null });
    this.#rows.sql(WEIGH_SQL).run(row.n);
  }

  /** Continues the call once the outcomes of all effects are decided. Those that did not happen are done then. */
  goOn({ n, created_ms: madeMs, updated_ms: lostMs }: DurableRow, nowMs: number): void {
    const { waits } = this.#rows;
    if (waits.open(n).some(({ wait }) => wait.kind === "outcome")) return;
    const journal = this.#journalOf(n);
    const answered = new Set(journal.answers.map(({ step }) => step));
    const asked = journal.asks.length;
    // The clock of a call never goes back, even if that of the machine was set back, before its first answer or later.
    const heardMs = [...journal.answers.map((answer) => answer.nowMs), ...(journal.late ?? []).map(([, atMs]) => atMs)];
    const atMs = heardMs.reduce((most, ms) => Math.max(most, ms), Math.max(nowMs, madeMs, lostMs));
    const answers = waits.forRun(n).flatMap(({ kind, state, step, settled }) => {
      if (kind !== "outcome" || state !== "happened" || answered.has(step)) return [];
      return [{ step, asked, nowMs: atMs, ok: true, payload: settled?.data ?? "null" }];
    });
    this.#put(n, { ...journal, answers: [...journal.answers, ...answers] });
    this.#rows.sql("UPDATE durable SET state = 'ready', wake_ms = NULL WHERE n = ?").run(n);
  }

  /** Adds the stored parts of a run to the journal. Returns the part of it that stays if the call cannot be undone. */
  gather(n: number): string {
    const lines = this.#linesOf(n);
    if (lines.length > 0) this.#put(n, this.#journalWith(n, lines));
    const sql = `SELECT 1 FROM durable WHERE n = ? AND (journal = '' OR ${MAY_UNDO})`;
    return this.#rows.sql(sql).get(n) === undefined ? withoutAnswers(this.#journalOf(n)) : "";
  }

  /** The past of a call: its runs, its capability calls and the record of a program. */
  past({ n, script }: DurableRow): KeptPast {
    const asks = journalAsks(this.#journalWith(n, this.#linesOf(n)));
    const sql = "SELECT record FROM durable WHERE n = ? AND octet_length(record) <= ?";
    const found = script === null ? this.#rows.sql(sql).get(n, RECORD_MAX) : undefined;
    return { runs: this.#rows.runs.all(n), asks, record: String(found?.["record"] ?? "") };
  }

  #linesOf(n: number): readonly Line[] {
    const sql = "SELECT begins, part FROM durable_line WHERE call = ? ORDER BY seq";
    return this.#rows.sql(sql).all(n) as unknown as readonly Line[];
  }

  #journalWith(n: number, lines: readonly Line[]): RecordedJournal {
    let journal = this.#journalOf(n);
    for (const { part } of lines) if (part !== null) journal = withPart(journal, JSON.parse(part) as JournalPart);
    return journal;
  }

  /** Removes the stored parts of a run, which are in the journal or needless. */
  forget(n: number): void {
    this.#rows.sql("DELETE FROM durable_line WHERE call = ?").run(n);
  }

  #journalOf(n: number): RecordedJournal {
    const { journal } = this.#rows.sql("SELECT journal FROM durable WHERE n = ?").get(n) as {
      readonly journal: string;
    };
    return journal === "" ? NO_JOURNAL : (JSON.parse(journal) as RecordedJournal);
  }

  #put(n: number, journal: RecordedJournal): void {
    const sql = "UPDATE durable SET journal = ?, plan = ? WHERE n = ?";
    this.#rows.sql(sql).run(JSON.stringify(journal), planOf(journal), n);
  }
}
