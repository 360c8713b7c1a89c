import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import type { KeptCall } from "../../kernel/store/calls/durable/durable-call.ts";
import { LEASE_MS, noteOf } from "../../kernel/store/calls/durable/durable-notes.ts";
import type { CallNote, DurableAnswer, DurableStep, NoteEvent } from "../../kernel/store/calls/durable/durable-step.ts";
import { SealError } from "../../kernel/store/seal.ts";
import { ForeignRowsError } from "../../kernel/store/calls/sealed/call-rows.ts";
import type { PrivateTables } from "../../kernel/store/calls/sealed/private-tables.ts";
import { headOnly, type SealedCalls } from "../../kernel/store/calls/sealed/sealed-calls.ts";

/** Notifications that this process has taken and not sent. */
const TAKEN_MAX = 1_000;

type NoteStep = Extract<DurableStep, { readonly kind: "notes" | "told" }>;
type RunNotes = (name: "notes" | "told", args: readonly (string | number)[]) => Promise<unknown>;

type NoteReply = readonly [
  target: string,
  member: string,
  n: number,
  madeMs: number,
  dueMs: number,
  tries: number,
  text: string,
  version: string,
  head: string,
];
type NotesReply = readonly [nowMs: number, nextMs: number, dropped: number, found: readonly NoteReply[]];

/** Notifications about calls, in Redis: each belongs to one server at a time. */
export class RedisNotes {
  readonly #run: RunNotes;
  readonly #calls: SealedCalls;
  readonly #tables: PrivateTables;
  readonly #taken = new BoundedCache<readonly [target: string, member: string]>(TAKEN_MAX);
  /** By how much the clock of Redis is ahead of that of this process. */
  #aheadMs = 0;

  constructor(run: RunNotes, calls: SealedCalls, tables: PrivateTables) {
    this.#run = run;
    this.#calls = calls;
    this.#tables = tables;
  }

  async take(step: NoteStep): Promise<DurableAnswer> {
    if (step.kind === "told") {
      await this.#told(step.n, step.dueMs);
      return { kind: "done", call: null };
    }
    const named = step.targets.flatMap(({ id, events, most }) => [id, ` ${events.join(" ")} `, most]);
    const reply = (await this.#run("notes", [step.most, LEASE_MS, ...named])) as NotesReply;
    const [nowMs, nextMs, dropped, found] = reply;
    this.#aheadMs = nowMs - step.nowMs;
    const notes: CallNote[] = [];
    for (const one of found) {
      const [target, member, n] = one;
      this.#taken.set(`${n}`, [target, member]);
      const note = this.#noteOf(one);
      if (note === null) await this.#told(n, null);
      else notes.push(note);
    }
    return { kind: "notes", notes, dueMs: nextMs === -1 ? null : nextMs - this.#aheadMs, dropped };
  }

  async #told(n: number, dueMs: number | null): Promise<void> {
    const taken = this.#taken.get(`${n}`);
    if (taken === undefined) return;
    await this.#run("told", [...taken, n, dueMs === null ? "" : dueMs + this.#aheadMs]);
    this.#taken.delete(`${n}`);
  }

  /** `null` if the notification is no longer needed. */
  #noteOf([target, member, n, madeMs, dueMs, tries, text, version, head]: NoteReply): CallNote | null {
    const at = member.indexOf(" ");
    const [event, id] = [member.slice(0, at) as NoteEvent, member.slice(at + 1)];
    try {
      const { leg, ...named } = this.#calls.openNote(id, event, text);
      const call = version === "" ? null : this.#callOf(id, version, head);
      const times = { madeMs: madeMs - this.#aheadMs, dueMs: dueMs - this.#aheadMs };
      return noteOf({ n, target, event, leg, id, ...times, tries }, { ...named, call });
    } catch (error) {
      // Sealed with another secret, or changed: an unreadable notification is not sent.
      if (error instanceof SealError || error instanceof ForeignRowsError) return null;
      throw error;
    }
  }

  #callOf(id: string, version: string, head: string): KeptCall | null {
    const calls = [{ id, n: 1, parts: headOnly(this.#calls.openHead(id, version, head)), seenMs: 0 }];
    const answer = this.#tables.read({ kind: "get", id, tenant: null }, calls);
    return answer.kind === "call" ? answer.call : null;
  }
}
