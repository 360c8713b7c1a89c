import { parseForWriting } from "../../../base/exact-json.ts";
import { isObject } from "../../../base/json.ts";
import type { RecordedAnswer, RecordedAsk, RecordedJournal } from "../../../base/protocol/recorded-journal.ts";
import type { CallPlace, DurableStep, PastAsk, PastToolCall } from "./durable-step.ts";
import { type DurableRow, WEIGH_SQL } from "./durable-layout.ts";
import { parsedArgs } from "./journal-asks.ts";
import type { DurableRows } from "./durable-rows.ts";

const TOOL_CALL = '"method":"call"';
/** Whether a call may have called tools: only then, all of its journal is kept after its end. */
export const MAY_UNDO = `instr(journal, '${TOOL_CALL}') > 0`;
/** Time for which the call is kept that undoes another. */
const EXPIRES_MS = 7 * 24 * 60 * 60 * 1_000;
/** Maximum length of the shown arguments of a capability call that cannot be undone, in characters. */
const ARGS_CHARS = 2_000;
const NO_JOURNAL = JSON.stringify({ asks: [], answers: [] } satisfies RecordedJournal);
const TRY = /^(.*)\.undo(?:\.(\d))?$/s;
/** Maximum calls that undo the same one: each after the first retries the failures of the one before. */
const UNDO_TRIES_MAX = 5;

/** The reason for which a call without tool calls is not undone. */
export const NOTHING_CALLED = "the call has called no tools";

/** The id of the call that undoes another, at its first try or a later one. */
export function undoId(id: string, nth = 1): string {
  return `${id}.undo${nth === 1 ? "" : `.${nth}`}`;
}

/** The ids of all calls that may undo another, the first try first. */
export function undoIds(id: string): readonly string[] {
  return Array.from({ length: UNDO_TRIES_MAX }, (_one, at) => undoId(id, at + 1));
}

/** The id of the call that a call undoes; `null` for another call. */
export function undoneId(id: string): string | null {
  return TRY.exec(id)?.[1] ?? null;
}

/** The id of the try before one; `null` for the first. */
export function earlierTry(id: string): string | null {
  const [, undone = "", nth] = TRY.exec(id) ?? [];
  return nth === undefined ? null : undoId(undone, Number(nth) - 1);
}

/** Calls that have ended, and calls that undo them. */
export class UndoneCalls {
  readonly #rows: DurableRows;

  constructor(rows: DurableRows) {
    this.#rows = rows;
  }

  /** The last call that undoes another; `undefined` if none exists. */
  last(id: string): (DurableRow & { readonly nth: number }) | undefined {
    for (let nth = UNDO_TRIES_MAX; nth > 0; nth--) {
      const found = this.#rows.find(undoId(id, nth), null);
      if (found !== undefined) return { ...found, nth };
    }
    return undefined;
  }

  /**
   * Makes the call that undoes another, once. `after`: the last try, which another one follows. `within`: the call that
   * waits for it. Returns the reason if that is impossible, in words; `null` if the call exists.
   */
  begin(
    { n, id, state }: Pick<DurableRow, "n" | "id" | "state">,
    nowMs: number,
    after: string | null,
    within?: CallPlace,
  ): string | null {
    if (undoneId(id) !== null) return "a call that undoes another cannot be undone";
    if (state !== "ended") return "the call has not ended: cancel it first";
    const last = this.last(id);
    if (last !== undefined && (last.id !== after || last.state !== "ended")) {
      if (last.state !== "ended") this.#tellEnd(last.n, within);
      return null;
    }
    const nth = (last?.nth ?? 0) + 1;
    if (nth > UNDO_TRIES_MAX) return `it was tried ${UNDO_TRIES_MAX} times to undo the call`;
    const { journal } = this.#rows.sql("SELECT journal FROM durable WHERE n = ?").get(n) as {
      readonly journal: string;
    };
    if (!journal.includes(TOOL_CALL)) return NOTHING_CALLED;
    const sql = `INSERT INTO durable (id, tenant, tool, call_id, key, state, leg, created_ms, updated_ms, ends_ms, record,
      runs, plan, journal) SELECT ?, tenant, tool, call_id || ?, key, 'ready', 0, ?, ?, ?, record, '', '', ? FROM durable WHERE n = ?`;
    const { lastInsertRowid } = this.#rows
      .sql(sql)
      .run(undoId(id, nth), undoId("", nth), nowMs, nowMs, nowMs + EXPIRES_MS, NO_JOURNAL, n);
    this.#rows.sql(WEIGH_SQL).run(lastInsertRowid);
    this.#tellEnd(Number(lastInsertRowid), within);
    return null;
  }

  /** Has the end of a call settle the wait of another one. */
  #tellEnd(n: number, within: CallPlace | undefined): void {
    if (within === undefined) return;
    this.#rows.sql("UPDATE durable SET parent = ?, parent_step = ? WHERE n = ?").run(within.id, within.step, n);
  }

  /** Capability calls of a call that has ended, those answered last first. */
  effects({ id, toolCalls }: Extract<DurableStep, { readonly kind: "effects" }>): readonly PastAsk[] {
    const row = this.#rows.sql("SELECT n, journal FROM durable WHERE id = ?").get(id) as
      (Pick<DurableRow, "n"> & { readonly journal: string }) | undefined;
    if (row === undefined || row.journal === "") return [];
    const { asks, answers } = JSON.parse(row.journal) as RecordedJournal;
    const waits = this.#waitsOf(row.n);
    const answered = new Map(answers.map((answer) => [answer.step, answer]));
    const open = asks.flatMap((ask, at) =>
      answered.has(at + 1) ? [] : [pastAsk(ask, at + 1, undefined, toolCalls, waits)],
    );
    const past = answers.flatMap((answer) => {
      const ask = asks[answer.step - 1];
      return ask === undefined ? [] : [pastAsk(ask, answer.step, answer, toolCalls, waits)];
    });
    return [...open, ...past.toReversed()].filter((one) => one !== null);
  }

  #waitsOf(n: number): PastWaits {
    const waits: PastWaits = { kept: new Map(), edited: new Map() };
    for (const wait of this.#rows.waits.forRun(n)) {
      if (wait.kind === "call") waits.kept.set(wait.step, wait.id);
      const args = wait.state === "approved" ? (wait.settled?.arguments ?? null) : null;
      if (args !== null) waits.edited.set(wait.step, args);
    }
    return waits;
  }
}

/** By step: child calls for which a call has waited, and edited arguments in place of the requested ones, as JSON. */
interface PastWaits {
  readonly kept: Map<number, string>;
  readonly edited: Map<number, string>;
}

/** `null` for one without an effect: it was refused, or its tool has failed. */
function pastAsk(
  { capability, method, args }: RecordedAsk,
  step: number,
  answer: RecordedAnswer | undefined,
  toolCalls: readonly string[],
  waits: PastWaits,
): PastAsk | null {
  if (answer?.ok === false && !waits.kept.has(step)) return null;
  const ask = { step, capability, method, isAnswered: answer !== undefined };
  const asked = toolCalls.includes(`${capability}.${method}`) ? parsedArgs(args) : null;
  if (asked === null) return { ...ask, args: args.slice(0, ARGS_CHARS), tool: null };
  const called = toolCall(asked, answer, waits.edited.get(step));
  const keptAs = waits.kept.get(step) ?? null;
  if (called === null || (called.hasFailed && keptAs === null)) return null;
  return { ...ask, args: "", tool: { ...called, keptAs } };
}

/** Long integers keep their digits. `edited`: the arguments with which it was approved. */
function toolCall(
  asked: unknown,
  answer: RecordedAnswer | undefined,
  edited: string | undefined,
): Omit<PastToolCall, "keptAs"> | null {
  const given = answer?.ok === true ? parseForWriting(answer.payload) : null;
  if (!isObject(asked)) return null;
  const [hasFailed, output] = isObject(given) ? [given["ok"] === false, given["output"]] : [answer?.ok === false, null];
  const input = edited === undefined ? literalOf(asked["arguments"]) : JSON.stringify(edited);
  return { name: String(asked["name"]), input, output: literalOf(output), hasFailed };
}

/** JSON of a value, as a string of JSON. */
function literalOf(value: unknown): string {
  return JSON.stringify(JSON.stringify(value ?? null));
}
