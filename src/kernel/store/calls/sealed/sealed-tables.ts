import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../base/errors.ts";
import { type Seal, SealError } from "../../seal.ts";
import { SqliteTransaction } from "../../sqlite/store.ts";
import type { DurableCapacity, KeptCall } from "../durable/durable-call.ts";
import { DurableNotes, type NoteRow, type ReadNote } from "../durable/durable-notes.ts";
import { DurableRows } from "../durable/durable-rows.ts";
import {
  type DurableAnswer,
  type DurableQuery,
  type DurableStep,
  type EndedCall,
  READING,
  takeTogether,
} from "../durable/durable-step.ts";
import { LostRuns } from "../durable/lost-runs.ts";
import { undoIds } from "../durable/undone-calls.ts";
import { awaitedOf, type CallStep, idOf, isBounded, madeOf, needOf, scriptOf } from "./call-step.ts";
import { type LoadedCall, PrivateTables, type StepOutcome, type StepView } from "./private-tables.ts";
import { type OpenedCall, SealedCallRows } from "./sealed-call-rows.ts";
import { SealedSnippets } from "./sealed-snippets.ts";

/** Maximum calls that one look settles: some 50 ms. */
const TICKED_MAX = 64;
/** Maximum calls below one that are loaded with it. */
const BELOW_MAX = 500;
/** Maximum characters of the heads of one page of a list, which ends there. */
const PAGE_CHARS = 4 * 1024 * 1024;
/** Characters of a family above which calls below are loaded without their journals, so that they cannot be undone. */
const WHOLE_CHARS = 16 * 1024 * 1024;
const NO_BOOKS = { calls: 0, bytes: 0, ended: 0, endedBytes: 0 };

type Of<Kind extends DurableStep["kind"]> = Extract<DurableStep, { readonly kind: Kind }>;

/**
 * Durable calls in a database of calls, sealed with a secret. A step opens the calls that it concerns, is taken by the
 * same rules in tables in memory, and its changes are sealed and written, all in one transaction. A call with a
 * changed, moved or missing part is not opened: it has ended, without another effect.
 */
export class SealedTables {
  readonly #database: DatabaseSync;
  readonly #room: DurableCapacity;
  readonly #transaction: SqliteTransaction;
  readonly #rows: DurableRows;
  readonly #stored: SealedCallRows;
  readonly #private: PrivateTables;
  readonly #lostRuns: LostRuns;
  readonly #notes: DurableNotes;
  readonly #snippets: SealedSnippets;
  /** Ids of calls that a step could not open. */
  readonly #damaged = new Set<string>();

  constructor(database: DatabaseSync, room: DurableCapacity, seal: Seal) {
    this.#database = database;
    this.#room = room;
    this.#transaction = new SqliteTransaction(database);
    // Bytes of a call are counted in plain form, those of a tenant in the form of the file.
    this.#rows = new DurableRows(database, { ...room, callBytes: Infinity });
    this.#private = new PrivateTables({ ...room, perTenant: Infinity, tenantBytes: Infinity });
    this.#stored = new SealedCallRows(this.#rows, seal);
    this.#lostRuns = new LostRuns(this.#rows);
    this.#notes = new DurableNotes(this.#rows, (row) => this.#readNote(row));
    this.#snippets = new SealedSnippets(database, seal);
  }

  /** Takes steps in one transaction. A failed one is answered by a `StoreError`, without effect on the others. */
  take(steps: readonly DurableStep[]): readonly (DurableAnswer | StoreError)[] {
    return takeTogether(this.#transaction, steps, (step) => this.#take(step));
  }

  /** Removes some ended calls whose time is over; returns whether there may be more. */
  sweep(nowMs: number): boolean {
    return this.#transaction.run(() => {
      this.#notes.sweep(nowMs);
      return this.#rows.sweep(nowMs);
    });
  }

  close(): void {
    this.#private.close();
  }

  #take(step: DurableStep): DurableAnswer | StoreError {
    try {
      return this.#answer(step);
    } catch (error) {
      // The request for the call gets the reason, and others do not wait for it.
      if (error instanceof SealError)
        return step.kind === "claim" ? { kind: "lost" } : new StoreError(DAMAGED, { isDamaged: true });
      if (error instanceof StoreError) return error;
      throw error;
    } finally {
      this.#endDamaged(step);
    }
  }

  #answer(step: DurableStep): DurableAnswer {
    switch (step.kind) {
      case "see":
        this.#lostRuns.see(step.holder, step.nowMs);
        return { kind: "done", call: null };
      case "due":
        return this.#due(step);
      case "standing":
        return { kind: "standing", ...this.#rows.standing(step.nowMs) };
      case "list":
        return this.#list(step.query);
      case "save":
      case "drop":
      case "snippets":
        return this.#snippets.take(step);
      case "notes":
      case "told":
        return this.#notes.take(step);
      default:
        return this.#takeOne(step);
    }
  }

  /** Takes a step about one call. */
  #takeOne(step: CallStep): DurableAnswer {
    const family = this.#familyOf(step);
    const root = family.find(({ id }) => id === idOf(step));
    const script = step.kind === "claim" && root !== undefined ? this.#scriptOf(root) : null;
    const outcome = this.#inPrivate(step, { calls: family, tenant: "", books: NO_BOOKS, script });
    const { answer, changed } = outcome;
    if (step.kind === "claim" || step.kind === "start")
      if (answer.kind === "claimed" || answer.kind === "done") this.#lostRuns.see(step.holder, step.nowMs);
    if (changed.length === 0) return answer;
    this.#database.exec("SAVEPOINT sealed");
    let isWritten = false;
    try {
      const bound = this.#write(step, outcome, family);
      isWritten = bound === null;
      return bound === null ? answer : { kind: "full", bound };
    } finally {
      if (this.#database.isTransaction)
        this.#database.exec(isWritten ? "RELEASE sealed" : "ROLLBACK TO sealed; RELEASE sealed");
    }
  }

  #scriptOf({ id, row: { script } }: OpenedCall): StepView["script"] {
    try {
      return script === null ? null : this.#stored.script(script);
    } catch (error) {
      this.#damaged.add(id);
      throw error;
    }
  }

  /** Returns the limit of a tenant that a call exceeds, in words. */
  #write(step: CallStep, { changed }: StepOutcome, family: readonly OpenedCall[]): string | null {
    const heads = new Map(family.map(({ id, head }) => [id, head]));
    const script = scriptOf(step);
    if (script !== null) this.#stored.putScript(script);
    for (const one of changed) {
      const { id, state } = one.row;
      const written = this.#stored.put(one, heads.get(id));
      if (state === "ended") this.#rows.makeRoom(written);
      else if (id === idOf(step) && isBounded(step)) {
        const bound = this.#rows.excessOf(written.n, one.isNew);
        if (bound !== null) return bound;
      }
    }
    return null;
  }

  /** Takes a step in memory. Its failures are not those of the file. */
  #inPrivate(step: DurableStep | CallStep, view: StepView): StepOutcome {
    try {
      return this.#private.take(step, view);
    } catch (error) {
      throw new StoreError("the store cannot write or read what it has", { cause: error });
    }
  }

  /**
   * The calls that a step may read. Its own, and those that undo it, must be unchanged. A child or a parent is left out
   * if it cannot be opened.
   */
  #familyOf(step: CallStep): readonly OpenedCall[] {
    const id = idOf(step);
    const need = needOf(step);
    const nowMs = "nowMs" in step ? step.nowMs : 0;
    const found = new Map<string, OpenedCall>();
    let chars = 0;
    const load = (one: string, form: "head" | "whole"): void => {
      const call = found.has(one) ? undefined : this.#open(one, form, nowMs);
      if (call === undefined) return;
      found.set(one, call);
      chars += charsOf(call);
    };
    const tryToLoad = (one: string, form: "head" | "whole"): void => {
      try {
        load(one, form);
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
      }
    };
    load(id, need === "head" ? "head" : "whole");
    if (need !== "family") return [...found.values()];
    if (step.kind === "undo") for (const one of undoIds(id)) load(one, "head");
    const parent = found.get(id)?.row.parent ?? madeOf(step)?.parent?.id;
    if (parent !== undefined) tryToLoad(parent, "whole");
    const below = [id];
    for (let at = 0; at < below.length && below.length < BELOW_MAX; at++) {
      const made = this.#stored.madeBy(below[at] ?? "", BELOW_MAX - below.length).filter((one) => !below.includes(one));
      for (const one of made) tryToLoad(one, chars < WHOLE_CHARS ? "whole" : "head");
      below.push(...made);
    }
    for (const one of awaitedOf(step)) tryToLoad(one, "head");
    return [...found.values()];
  }

  #open(id: string, form: "head" | "whole", nowMs: number): OpenedCall | undefined {
    try {
      return this.#stored.load(id, form, nowMs);
    } catch (error) {
      if (error instanceof SealError) this.#damaged.add(id);
      throw error;
    }
  }

  /** A read writes nothing. */
  #endDamaged(step: DurableStep): void {
    if (!READING.has(step.kind) && "nowMs" in step)
      for (const id of this.#damaged) this.#stored.end(id, step.nowMs, this.#room.keepMs);
    this.#damaged.clear();
  }

  #due({ most, nowMs }: Of<"due">): DurableAnswer {
    const lostRuns = this.#lostRuns.found(TICKED_MAX, nowMs).map(({ id }) => id);
    const lost: KeptCall[] = [];
    const ended: EndedCall[] = [];
    for (const id of new Set([...this.#rows.due(TICKED_MAX, nowMs), ...lostRuns])) {
      try {
        const answer = this.#takeOne({ kind: "due", id, most: 0, nowMs });
        if (answer.kind === "ready") lost.push(...answer.lost);
        ended.push(...(answer.ended ?? []));
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
      }
    }
    this.#endDamaged({ kind: "due", most, nowMs });
    return { kind: "ready", ids: this.#rows.ready(most), wakeMs: this.#rows.wakeMs(), lost, ended };
  }

  #list(query: DurableQuery): DurableAnswer {
    const calls: LoadedCall[] = [];
    let [looked, chars, last] = [0, 0, 0];
    let error: SealError | null = null;
    for (const [n, call] of this.#stored.found(query)) {
      [looked, last] = [looked + 1, n];
      if (call instanceof SealError) error = call;
      else {
        calls.push(call);
        if ((chars += call.head.rows.length) > PAGE_CHARS) break;
      }
    }
    const isMore = looked === query.limit || chars > PAGE_CHARS;
    // Others are listed without those that cannot be opened.
    if (calls.length === 0 && error !== null && !isMore) throw error;
    const { answer } = this.#inPrivate({ kind: "list", query }, { calls, tenant: "", books: NO_BOOKS, script: null });
    if (answer.kind !== "page" || answer.page.cursor !== null || !isMore) return answer;
    return { kind: "page", page: { ...answer.page, cursor: `${last}` } };
  }

  /** `null` for a note that was sealed for another state or call, or was changed. */
  #readNote({ id, event, call_id: sealed }: NoteRow): ReturnType<ReadNote> {
    try {
      const { callId, tool, tenant, code } = this.#stored.calls.openNote(id, event, sealed);
      const call = this.#open(id, "head", 0);
      const view = { calls: call === undefined ? [] : [call], tenant: "", books: NO_BOOKS, script: null };
      const { answer } = this.#inPrivate({ kind: "get", id, tenant: null }, view);
      return { callId, tool, tenant, code, call: answer.kind === "call" ? answer.call : null };
    } catch (error) {
      if (error instanceof SealError) return null;
      throw error;
    }
  }
}

const DAMAGED =
  "the call was changed in its file by another program, or a part of it is missing, so it cannot go on: make it again, or restore the file from a backup";

function charsOf({ parts: { body, run } }: OpenedCall): number {
  return (body?.length ?? 0) + (run?.length ?? 0);
}
