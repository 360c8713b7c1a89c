import type { DatabaseSync } from "node:sqlite";
import { type ErrorCode, toolError } from "../../../base/errors.ts";
import { refusedCall, resultText } from "../../../base/result.ts";
import { SqliteTransaction } from "../../sqlite/store.ts";
import {
  type DurableCapacity,
  type KeptCall,
  LEGS_MAX,
  LOST_MAX,
  type MadeCall,
  type PausedCall,
} from "./durable-call.ts";
import { COLUMNS, type DurableRow, WEIGH_SQL } from "./durable-layout.ts";
import { DurableNotes } from "./durable-notes.ts";
import { DurableRows } from "./durable-rows.ts";
import { DurableSignals } from "./durable-signals.ts";
import { type DurableAnswer, type DurableStep, type EndedCall, takeTogether } from "./durable-step.ts";
import { LostRuns } from "./lost-runs.ts";
import { SnippetTables } from "./snippet-tables.ts";
import type { DurableWaits } from "./durable-waits.ts";
import { MAY_UNDO, UndoneCalls } from "./undone-calls.ts";

/** Maximum rows that one step reads. */
const SETTLED_MAX = 256;

type Of<Kind extends DurableStep["kind"]> = Extract<DurableStep, { readonly kind: Kind }>;

/** Durable calls in a database of calls. Each step is done as a whole, or not at all; several share a transaction. */
export class DurableTables {
  readonly #database: DatabaseSync;
  readonly #room: DurableCapacity;
  readonly #transaction: SqliteTransaction;
  readonly #rows: DurableRows;
  readonly #waits: DurableWaits;
  readonly #signals: DurableSignals;
  readonly #lostRuns: LostRuns;
  readonly #undoing: UndoneCalls;
  readonly #notes: DurableNotes;
  /** Calls that the present step has ended. */
  #ended: EndedCall[] = [];

  constructor(database: DatabaseSync, room: DurableCapacity) {
    this.#database = database;
    this.#room = room;
    this.#transaction = new SqliteTransaction(database);
    this.#rows = new DurableRows(database, room);
    this.#waits = this.#rows.waits;
    this.#signals = new DurableSignals(this.#rows, room.callBytes);
    this.#lostRuns = new LostRuns(this.#rows);
    this.#undoing = new UndoneCalls(this.#rows);
    this.#notes = new DurableNotes(this.#rows);
  }

  take(steps: readonly DurableStep[]): readonly DurableAnswer[] {
    return takeTogether(this.#transaction, steps, (step) => {
      this.#ended = [];
      const answer = this.#take(step);
      return this.#ended.length === 0 ? answer : { ...answer, ended: this.#ended };
    });
  }

  /** Removes some ended calls that were kept long enough; returns whether there may be more. */
  sweep(nowMs: number): boolean {
    return this.#transaction.run(() => {
      this.#notes.sweep(nowMs);
      return this.#rows.sweep(nowMs);
    });
  }

  #take(step: DurableStep): DurableAnswer {
    switch (step.kind) {
      case "pause":
        return this.#pause(step);
      case "start":
        return this.#start(step);
      case "claim":
        return this.#claim(step);
      case "end":
        return this.#end(step);
      case "append":
        return this.#append(step);
      case "abandon":
        return this.#abandon(step);
      case "release":
        return this.#release(step);
      case "due":
        return this.#due(step);
      case "decide":
        return this.#change(step, (row) => {
          const message = this.#waits.decide(row.n, step.decisions, step.nowMs);
          if (message === null && row.state === "in_doubt") this.#lostRuns.goOn(row, step.nowMs);
          return message;
        });
      case "signal":
        return this.#change(step, (row) => (row.state === "ended" ? ENDED : this.#signals.send(row, step)));
      case "cancel":
        return this.#cancel(step);
      case "undo":
        return this.#undo(step);
      case "standing":
        return { kind: "standing", ...this.#rows.standing(step.nowMs) };
      case "effects":
        return { kind: "effects", effects: this.#undoing.effects(step) };
      case "see":
        this.#lostRuns.see(step.holder, step.nowMs);
        return { kind: "done", call: null };
      case "get": {
        const row = this.#rows.find(step.id, step.tenant);
        if (row === undefined) return { kind: "missing" };
        return { kind: "call", call: this.#rows.callOf(row), ...(step.isWhole && { past: this.#lostRuns.past(row) }) };
      }
      case "list":
        return this.#rows.list(step.query);
      case "save":
      case "drop":
      case "snippets":
        return new SnippetTables(this.#database).take(step);
      case "notes":
      case "told":
        return this.#notes.take(step);
    }
  }

  #pause({ call, nowMs }: Of<"pause">): DurableAnswer {
    const known = this.#rows.find(call.id, null);
    // The pause was stored before, and its answer came too late.
    if (known !== undefined && isStored(known, call)) return { kind: "done", call: null };
    if (known === undefined ? call.made === null : known.state !== "running" || known.leg !== call.leg) return LOST;
    if (known === undefined && call.made !== null && this.#lostRuns.isOrphaned(call.made)) return LOST;
    if (known !== undefined && known.leg - known.unrun >= LEGS_MAX)
      return { kind: "full", bound: `a call may go on ${LEGS_MAX} times` };
    const settled = known === undefined ? [] : this.#waits.settledAmong(known.n, call.waits);
    if (known !== undefined && settled.length > 0) {
      this.#waits.hear(known.n);
      return { kind: "settled", waits: settled };
    }
    const excess = this.#waits.excessOf(call.waits);
    if (excess !== null) return { kind: "full", bound: excess };
    return this.#orNothing(() => {
      const n = known?.n ?? this.#rows.insert(call, call.made as MadeCall, nowMs);
      const sql =
        "UPDATE durable SET state = 'paused', holder = NULL, own_wake_ms = ?, updated_ms = ?, lost = 0, runs = ?, plan = ?, journal = ? WHERE n = ?";
      this.#rows.sql(sql).run(call.wakeMs, nowMs, call.runs, call.plan, call.journal, n);
      this.#lostRuns.forget(n);
      this.#rows.runs.end(n, "paused", nowMs);
      this.#waits.put(n, call.waits);
      this.#settleAtOnce(n, nowMs);
      this.#rows.sql(WEIGH_SQL).run(n);
      const bound = this.#rows.excessOf(n, known === undefined);
      if (bound !== null) return { kind: "full", bound };
      this.#arrange(n, nowMs);
      this.#lostRuns.awaitBelow(call, nowMs);
      const row = this.#rows.find(call.id, null);
      // The call that made it has ended.
      if (row !== undefined && this.#isOrphan(row)) this.#cancelled(row, PARENT_ENDED, nowMs);
      return { kind: "done", call: null };
    });
  }

  #start({ call, holder, nowMs }: Of<"start">): DurableAnswer {
    const known = this.#rows.find(call.id, null);
    if (known !== undefined) return known.holder === holder ? { kind: "done", call: null } : LOST;
    const { made } = call;
    if (made === null) return LOST;
    return this.#orNothing(() => {
      const n = this.#rows.insert(call, { ...made, begun: { holder, atMs: nowMs } }, nowMs);
      this.#lostRuns.see(holder, nowMs);
      this.#rows.sql("UPDATE durable SET holder = ? WHERE n = ?").run(holder, n);
      this.#rows.sql(WEIGH_SQL).run(n);
      const bound = this.#rows.excessOf(n, true);
      return bound === null ? { kind: "done", call: null } : { kind: "full", bound };
    });
  }

  /** Does all of a step, or nothing if its answer is a refusal. */
  #orNothing(work: () => DurableAnswer): DurableAnswer {
    this.#database.exec("SAVEPOINT step");
    const answer = work();
    const isDone = answer.kind === "done";
    this.#database.exec(isDone ? "RELEASE step" : "ROLLBACK TO step; RELEASE step");
    return answer;
  }

  /** Whether it was made by a call that has ended. */
  #isOrphan({ parent }: DurableRow): boolean {
    return parent !== null && this.#rows.find(parent, null)?.state === "ended";
  }

  /** Settles waits for signals that have already arrived, and for child calls that ended before this was stored. */
  #settleAtOnce(n: number, nowMs: number): void {
    for (const { step, wait } of this.#waits.open(n)) {
      if (wait.kind === "signal") this.#signals.hear(n, step, wait.name, nowMs);
      if (wait.kind !== "call") continue;
      const child = this.#rows.sql("SELECT result FROM durable WHERE id = ? AND state = 'ended'").get(wait.id);
      const result = (child as { readonly result: string } | undefined)?.result;
      if (result !== undefined) this.#waits.settle(n, step, "done", { data: result }, nowMs);
    }
  }

  /** Makes a paused call ready if a settlement is new to it; otherwise it sleeps until its next wait is due. */
  #arrange(n: number, nowMs: number): void {
    const wakeMs = this.#waits.wakeMs(n);
    const sql = `UPDATE durable SET updated_ms = ?1, state = iif(?2 OR state = 'ready', 'ready', 'paused'),
      wake_ms = min(ends_ms, coalesce(?3, ends_ms), coalesce(own_wake_ms, ends_ms)) WHERE n = ?4 AND state IN ('paused', 'ready')`;
    this.#rows.sql(sql).run(nowMs, this.#waits.hasUnheard(n) ? 1 : 0, wakeMs, n);
  }

  #claim({ id, holder, nowMs }: Of<"claim">): DurableAnswer {
    const row = this.#rows.find(id, null);
    if (row?.state !== "ready") return LOST;
    this.#lostRuns.see(holder, nowMs);
    this.#rows
      .sql("UPDATE durable SET state = 'running', leg = leg + 1, holder = ?, wake_ms = NULL WHERE n = ?")
      .run(holder, row.n);
    const call = this.#rows.claimed({ ...row, leg: row.leg + 1 }, nowMs - row.updated_ms);
    this.#rows.runs.begin(row.n, row.leg + 1 - row.unrun, holder, nowMs);
    this.#rows.sql(WEIGH_SQL).run(row.n);
    this.#waits.hear(row.n);
    return { kind: "claimed", call };
  }

  #append({ id, leg, lines, runs, nowMs }: Of<"append">): DurableAnswer {
    const row = this.#rows.find(id, null);
    if (row?.state !== "running" || row.leg !== leg) return LOST;
    const sql = "INSERT OR IGNORE INTO durable_line (call, seq, begins, part) VALUES (?, ?, ?, ?)";
    return this.#orNothing(() => {
      for (const { seq, begins, part } of lines) this.#rows.sql(sql).run(row.n, seq, begins, part);
      this.#rows.sql("UPDATE durable SET runs = ?, updated_ms = ? WHERE n = ?").run(runs, nowMs, row.n);
      this.#rows.sql(WEIGH_SQL).run(row.n);
      const bound = this.#rows.excessOf(row.n, false);
      return bound === null ? { kind: "done", call: null } : { kind: "full", bound };
    });
  }

  #abandon({ id, leg, losses, nowMs }: Of<"abandon">): DurableAnswer {
    const row = this.#rows.find(id, null);
    if (row?.state !== "running" || row.leg !== leg) return LOST;
    this.#recover({ ...row, lost: row.lost + losses - 1 }, nowMs);
    return this.#done(id);
  }

  /** Continues a call whose run was lost, unless the outcome of an effect is unknown, or too many runs were lost. */
  #recover(row: DurableRow, nowMs: number): void {
    const isHopeless = row.lost + 1 >= LOST_MAX || row.leg - row.unrun >= LEGS_MAX;
    if (isHopeless) return this.#endUnrun(row, "outcome_unknown", RUNS_LOST, nowMs);
    if (this.#isOrphan(row)) return this.#cancelled(row, PARENT_ENDED, nowMs);
    this.#rows.runs.end(row.n, "lost", nowMs);
    this.#lostRuns.recover(row, nowMs);
    this.#rows.sql(WEIGH_SQL).run(row.n);
  }

  /** A run may end while its pause is stored: its end counts if no later run has begun. */
  #end({ id, leg, result, isFailed, nowMs }: Of<"end">): DurableAnswer {
    const row = this.#rows.find(id, null);
    if (row?.leg !== leg || !MAY_END.has(row.state)) return LOST;
    this.#finish(row, result, nowMs, isFailed);
    return { kind: "done", call: null };
  }

  #undo({ id, tenant, after, within, nowMs }: Of<"undo">): DurableAnswer {
    const row = this.#rows.find(id, tenant);
    if (row === undefined) return { kind: "missing" };
    const message = this.#undoing.begin(row, nowMs, after, within);
    const last = this.#undoing.last(id)?.id ?? "";
    return message === null ? this.#done(last) : { kind: "conflict", message, call: this.#rows.callOf(row) };
  }

  /** Ends a call and the calls that it has made, and settles the wait of its parent. */
  #finish(row: DurableRow, result: string, nowMs: number, isFailed = true): void {
    const journal = this.#lostRuns.gather(row.n);
    this.#rows.runs.end(row.n, "ended", nowMs);
    const sql = `UPDATE durable SET state = 'ended', holder = NULL, wake_ms = NULL, updated_ms = ?, ends_ms = ?, result = ?,
      runs = '', plan = '', record = iif(${MAY_UNDO}, record, ''), journal = iif(${MAY_UNDO}, journal, ?) WHERE n = ?`;
    this.#rows.sql(sql).run(nowMs, nowMs + this.#room.keepMs, result, journal, row.n);
    if (isFailed && row.undoes === 1) this.#undoing.begin({ ...row, state: "ended" }, nowMs, null);
    this.#waits.voidOpen(row.n, nowMs);
    this.#rows.sql("DELETE FROM durable_signal WHERE call = ?").run(row.n);
    this.#lostRuns.forget(row.n);
    this.#rows.sql(WEIGH_SQL).run(row.n);
    this.#rows.makeRoom(row);
    const waiting = "parent = ? AND state IN ('paused', 'ready', 'in_doubt')";
    const made = this.#rows.sql(`SELECT ${COLUMNS} FROM durable WHERE ${waiting}`);
    for (const child of made.all(row.id) as unknown as readonly DurableRow[])
      this.#cancelled(child, PARENT_ENDED, nowMs);
    const parent = row.parent === null ? undefined : this.#rows.find(row.parent, null);
    if (parent === undefined || row.parent_step === null) return;
    const wait = this.#waits.open(parent.n).find(({ step }) => step === row.parent_step);
    if (wait?.wait.kind !== "call" || wait.wait.id !== row.id) return;
    this.#waits.settle(parent.n, row.parent_step, "done", { data: result }, nowMs);
    this.#rows.sql(WEIGH_SQL).run(parent.n);
    this.#arrange(parent.n, nowMs);
  }

  #cancelled(row: DurableRow, message: string, nowMs: number): void {
    this.#endUnrun(row, "cancelled", message, nowMs);
  }

  #endUnrun(row: DurableRow, code: ErrorCode, message: string, nowMs: number): void {
    const { id, call_id: callId, tool, tenant, key } = row;
    const { record } = this.#rows.sql("SELECT record FROM durable WHERE n = ?").get(row.n) as Pick<MadeCall, "record">;
    const result = resultText(refusedCall({ id: callId, name: tool }, toolError(code, message), callId));
    this.#ended.push({ id, callId, tool, tenant, key, record, result });
    this.#finish(row, result, nowMs);
  }

  #release({ id, leg, nowMs }: Of<"release">): DurableAnswer {
    const sql =
      "UPDATE durable SET state = 'ready', holder = NULL, unrun = unrun + 1, updated_ms = ? WHERE id = ? AND leg = ? AND state = 'running'";
    const row = this.#rows.find(id, null);
    if (row === undefined || this.#rows.sql(sql).run(nowMs, id, leg).changes === 0) return LOST;
    this.#rows.runs.drop(row.n);
    this.#rows.sql(WEIGH_SQL).run(row.n);
    return { kind: "done", call: null };
  }

  #cancel({ id, tenant, message, nowMs }: Of<"cancel">): DurableAnswer {
    const row = this.#rows.find(id, tenant);
    if (row === undefined) return { kind: "missing" };
    if (row.state === "running" || row.state === "ended") {
      const why = row.state === "ended" ? ENDED : "the call runs at this moment: try again";
      return { kind: "conflict", message: why, call: this.#rows.callOf(row) };
    }
    this.#cancelled(row, message, nowMs);
    return this.#done(id);
  }

  /** Changes waits of a call: `change` returns the reason if it cannot. */
  #change(
    { id, tenant, nowMs }: { readonly id: string; readonly tenant: string | null; readonly nowMs: number },
    change: (row: DurableRow) => string | null,
  ): DurableAnswer {
    if (this.#rows.find(id, tenant) === undefined) return { kind: "missing" };
    // Waits that were due before cannot be decided now.
    this.#tick(id, nowMs);
    const row = this.#rows.find(id, tenant);
    if (row === undefined) return { kind: "missing" };
    const message = change(row);
    if (message !== null) return { kind: "conflict", message, call: this.#rows.callOf(row) };
    this.#rows.sql(WEIGH_SQL).run(row.n);
    this.#arrange(row.n, nowMs);
    return this.#done(id);
  }

  #due({ most, nowMs }: Of<"due">): DurableAnswer {
    for (const id of this.#rows.due(SETTLED_MAX, nowMs)) this.#tick(id, nowMs);
    const lost = this.#recoverLost(nowMs);
    const ids = this.#rows.ready(most);
    return { kind: "ready", ids, wakeMs: this.#rows.wakeMs(), lost };
  }

  /** Settles waits of a call by the clock, and ends a call that has waited too long. */
  #tick(id: string, nowMs: number): void {
    const row = this.#rows.find(id, null);
    if (row === undefined || row.state === "ended") return;
    if (row.state === "in_doubt") {
      if (row.ends_ms <= nowMs) this.#endUnrun(row, "outcome_unknown", NEVER_KNOWN, nowMs);
      return;
    }
    if (row.state === "paused" && row.ends_ms <= nowMs) return this.#cancelled(row, TOO_LONG, nowMs);
    this.#waits.settleDue(row.n, nowMs);
    this.#arrange(row.n, nowMs);
    const wakes =
      "UPDATE durable SET state = 'ready', own_wake_ms = NULL WHERE n = ? AND state = 'paused' AND own_wake_ms <= ?";
    this.#rows.sql(wakes).run(row.n, nowMs);
  }

  /** Calls whose runs were lost with their processes. */
  #recoverLost(nowMs: number): readonly KeptCall[] {
    return this.#lostRuns.found(SETTLED_MAX, nowMs).flatMap((row) => {
      this.#recover(row, nowMs);
      const now = this.#rows.find(row.id, null);
      return now === undefined ? [] : [this.#rows.callOf(now)];
    });
  }

  #done(id: string): DurableAnswer {
    const row = this.#rows.find(id, null);
    return { kind: "done", call: row === undefined ? null : this.#rows.callOf(row) };
  }
}

const MAY_END: ReadonlySet<string> = new Set(["running", "paused", "ready"]);
const LOST: DurableAnswer = { kind: "lost" };
const ENDED = "the call has ended";
const PARENT_ENDED = "the call that made this one has ended";
const TOO_LONG = "the call has waited as long as it is kept";
const RUNS_LOST = "the call was lost with its process again and again: it is unknown what it had done by then";
const NEVER_KNOWN = "nobody has said what became of an effect that was under way when the call's process was lost";

/** Whether this pause was stored, regardless of the call's later state. */
function isStored(row: DurableRow, { leg, made }: PausedCall): boolean {
  return made !== null || row.leg > leg || (row.leg === leg && row.state !== "running");
}
