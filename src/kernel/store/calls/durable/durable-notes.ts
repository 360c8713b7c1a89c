import type { KeptCall } from "./durable-call.ts";
import type { CallNote, DurableAnswer, DurableStep, NotedCall, NoteEvent, NoteTarget } from "./durable-step.ts";
import type { DurableRows } from "./durable-rows.ts";
import { TARGET_LOST_MS } from "./outbox-tables.ts";

/** Time for which a note is reserved for the process that has taken it. */
export const LEASE_MS = 30_000;
/** Interval at which a target is noted as seen. */
const SEEN_MS = 60_000;
/** Maximum notes that one step reads, of each target: some have become needless. */
const LOOKED_MAX = 64;

type NoteStep = Extract<DurableStep, { readonly kind: "notes" | "told" }>;

export interface NoteRow {
  readonly n: number;
  readonly target: string;
  readonly event: NoteEvent;
  readonly leg: number;
  readonly id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly tenant: string;
  readonly code: string | null;
  readonly made_ms: number;
  readonly due_ms: number;
  readonly tries: number;
}

/** Reads the facts in a note, whose call may be removed, and the call as it is now; `null` for an unreadable note. */
export type ReadNote = (row: NoteRow) => ReadableNote | null;
interface ReadableNote extends Pick<NotedCall, "callId" | "tool" | "tenant" | "code"> {
  readonly call: KeptCall | null;
}

/** Notes of calls for the targets of notifications, in the tables of `outbox-tables.ts`. */
export class DurableNotes {
  readonly #rows: DurableRows;
  readonly #read: ReadNote;

  constructor(rows: DurableRows, read: ReadNote = readerOf(rows)) {
    this.#rows = rows;
    this.#read = read;
  }

  take(step: NoteStep): DurableAnswer {
    if (step.kind === "notes") return this.#takeDue(step);
    this.#told(step.n, step.dueMs);
    return { kind: "done", call: null };
  }

  /** Takes notes that are due, and removes needless ones. */
  #takeDue({ targets, most, nowMs }: Extract<NoteStep, { readonly kind: "notes" }>): DurableAnswer {
    for (const target of targets) this.#see(target, nowMs);
    const due = targets.flatMap((target) => this.#dueOf(target, nowMs));
    const notes = due.toSorted((one, other) => one.dueMs - other.dueMs).slice(0, most);
    const sql = "UPDATE durable_note SET due_ms = ?, tries = tries + 1 WHERE n = ?";
    for (const { n } of notes) this.#rows.sql(sql).run(nowMs + LEASE_MS, n);
    return { kind: "notes", notes, dueMs: this.#dueMs(targets), dropped: this.#dropped(targets) };
  }

  /** `dueMs`: time of the next try; `null`: it is delivered, or given up. */
  #told(n: number, dueMs: number | null): void {
    if (dueMs === null) this.#rows.sql("DELETE FROM durable_note WHERE n = ?").run(n);
    else this.#rows.sql("UPDATE durable_note SET due_ms = ? WHERE n = ?").run(dueMs, n);
  }

  /** Forgets targets that no engine names any more, with their notes. */
  sweep(nowMs: number): void {
    const lost = "SELECT id FROM durable_target WHERE seen_ms < ?";
    this.#rows.sql(`DELETE FROM durable_note WHERE target IN (${lost})`).run(nowMs - TARGET_LOST_MS);
    this.#rows.sql("DELETE FROM durable_target WHERE seen_ms < ?").run(nowMs - TARGET_LOST_MS);
  }

  #see({ id, events }: NoteTarget, nowMs: number): void {
    const sql = `INSERT INTO durable_target (id, events, seen_ms) VALUES (?1, ?2, ?3) ON CONFLICT (id)
      DO UPDATE SET events = ?2, seen_ms = ?3 WHERE events <> ?2 OR seen_ms < ?3 - ${SEEN_MS}`;
    this.#rows.sql(sql).run(id, ` ${events.join(" ")} `, nowMs);
  }

  #dueOf({ id, most }: NoteTarget, nowMs: number): readonly CallNote[] {
    const due = "SELECT * FROM durable_note WHERE target = ? AND due_ms <= ? ORDER BY due_ms, n LIMIT ?";
    const rows = this.#rows.sql(due).all(id, nowMs, LOOKED_MAX) as unknown as readonly NoteRow[];
    const notes: CallNote[] = [];
    for (const row of rows) {
      if (notes.length >= most) break;
      const note = this.#noteOf(row);
      if (note === null) this.#told(row.n, null);
      else notes.push(note);
    }
    return notes;
  }

  /** `null` for a needless note, as no wait for a person is open any more. */
  #noteOf(row: NoteRow): CallNote | null {
    const { n, target, event, leg, id, made_ms: madeMs, due_ms: dueMs, tries } = row;
    const read = this.#read(row);
    return read && noteOf({ n, target, event, leg, id, madeMs, dueMs, tries: tries + 1 }, read);
  }

  #dueMs(targets: readonly NoteTarget[]): number | null {
    const sql = "SELECT min(due_ms) AS dueMs FROM durable_note WHERE target = ?";
    const timesMs = targets.flatMap(({ id }) => {
      const { dueMs } = this.#rows.sql(sql).get(id) as { readonly dueMs: number | null };
      return dueMs === null ? [] : [dueMs];
    });
    return timesMs.length === 0 ? null : Math.min(...timesMs);
  }

  /** Number of notes that were dropped since the last call of this. */
  #dropped(targets: readonly NoteTarget[]): number {
    let sum = 0;
    for (const { id } of targets) {
      const { dropped } = this.#rows.sql("SELECT dropped FROM durable_target WHERE id = ?").get(id) as {
        readonly dropped: number;
      };
      if (dropped > 0) this.#rows.sql("UPDATE durable_target SET dropped = 0 WHERE id = ?").run(id);
      sum += dropped;
    }
    return sum;
  }
}

function readerOf(rows: DurableRows): ReadNote {
  return ({ id, call_id: callId, tool, tenant, code }) => {
    const found = rows.find(id, null);
    return { callId, tool, tenant, code, call: found === undefined ? null : rows.callOf(found, false) };
  };
}

/** A note with the call as it is now; `null` for one that is needless, as nobody waits for a person any more. */
export function noteOf(
  { leg, ...note }: Omit<CallNote, "call"> & { readonly leg: number },
  { call, ...named }: ReadableNote,
): CallNote | null {
  const { id, event } = note;
  const waits = (call?.waits ?? []).filter(({ state }) => state === "open");
  const subject = event === "paused" ? "approval" : "outcome";
  if (event !== "ended" && !waits.some(({ kind }) => kind === subject)) return null;
  const { state = "ended", expiresAt = null } = call ?? {};
  return { ...note, id: `${id}_${event}_${leg}`, call: { id, ...named, state, expiresAt, waits } };
}
