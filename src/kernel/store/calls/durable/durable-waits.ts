import type { Prepare } from "../../sqlite/statements.ts";
import { parseForWriting, parseWithDigits } from "../../../base/exact-json.ts";
import {
  type CallWait,
  isSameWait,
  isSettled,
  type NewWait,
  type RunWait,
  type WaitKind,
  WAITS_MAX,
  type WaitSettlement,
  type WaitState,
} from "./durable-call.ts";
import type { MadeDecision } from "./durable-step.ts";

interface WaitRow {
  readonly step: number;
  readonly state: WaitState;
  readonly opened_ms: number;
  readonly expires_ms: number | null;
  readonly detail: string;
  readonly settled: string | null;
}

/** A wait that is open. */
export interface OpenWait {
  readonly step: number;
  readonly wait: WaitKind;
  readonly expiresMs: number | null;
  /** Time at which it is due; `null` for a wait without a time. */
  readonly dueMs: number | null;
}

const OF_CALL = "FROM durable_wait WHERE call = ?";
const COLUMNS = "step, state, opened_ms, expires_ms, detail, settled";

/**
 * Waits of calls in the tables of `DurableTables`. `place`: order of settlement; negative once the call received it.
 */
export class DurableWaits {
  readonly #sql: Prepare;

  constructor(sql: Prepare) {
    this.#sql = sql;
  }

  /** Waits of a call in the order of their settlement, then the open ones, as readers see them. */
  all(call: number): readonly CallWait[] {
    return this.#rows(call).map((row) => waitOf(row, parseWithDigits));
  }

  /** The same for a run of the call. */
  forRun(call: number): readonly RunWait[] {
    return this.#rows(call).map((row) => waitOf(row, asText));
  }

  #one(call: number, step: number): RunWait | undefined {
    // The approval of an effect in doubt may have the same step.
    const sql = `SELECT ${COLUMNS} ${OF_CALL} AND step = ? ORDER BY place IS NOT NULL, abs(place) DESC LIMIT 1`;
    const row = this.#sql(sql).get(call, step) as WaitRow | undefined;
    return row && waitOf(row, asText);
  }

  /** Bytes that `all` reads. */
  bytes(call: number): number {
    const sql = `SELECT coalesce(sum(octet_length(detail) + coalesce(octet_length(settled), 0)), 0) AS bytes ${OF_CALL}`;
    return Number(this.#sql(sql).get(call)?.["bytes"]);
  }

  #rows(call: number): readonly WaitRow[] {
    const sql = `SELECT ${COLUMNS} ${OF_CALL} ORDER BY place IS NULL, abs(place), step`;
    return this.#sql(sql).all(call) as unknown as readonly WaitRow[];
  }

  open(call: number): readonly OpenWait[] {
    const rows = this.#sql(`SELECT ${COLUMNS} ${OF_CALL} AND state = 'open' ORDER BY step`).all(call);
    return (rows as unknown as readonly WaitRow[]).map(({ step, expires_ms, detail }) => {
      const wait = JSON.parse(detail) as WaitKind;
      return { step, wait, expiresMs: expires_ms, dueMs: wait.kind === "time" ? Date.parse(wait.until) : null };
    });
  }

  /** Begin of the oldest open approval of all calls; `null` if none is open. */
  oldestApprovalMs(): number | null {
    const sql = "SELECT min(opened_ms) AS oldestMs FROM durable_wait WHERE kind = 'approval' AND state = 'open'";
    return (this.#sql(sql).get() as { readonly oldestMs: number | null }).oldestMs;
  }

  /** The waits of a run that are settled already. */
  settledAmong(call: number, given: readonly NewWait[]): readonly RunWait[] {
    const listed = new Map(given.map((one) => [one.step, one.wait]));
    return this.forRun(call).filter((wait) => {
      const now = listed.get(wait.step);
      return now !== undefined && isSettled(wait) && isSameWait(wait, now);
    });
  }

  excessOf(given: readonly NewWait[]): string | null {
    return given.length > WAITS_MAX ? `a call may wait for ${WAITS_MAX} things at once` : null;
  }

  /** Adds new waits; those that the run no longer lists become void. */
  put(call: number, given: readonly NewWait[]): void {
    const known = new Map(this.#rows(call).map((row) => [row.step, row]));
    for (const { step, wait, openedMs, expiresMs } of given) {
      const before = known.get(step);
      known.delete(step);
      if (before?.state === "open" && isSameWait(JSON.parse(before.detail) as WaitKind, wait)) continue;
      this.add(call, { step, wait, openedMs, expiresMs });
    }
    for (const { step, state } of known.values())
      if (state === "open")
        this.#sql("UPDATE durable_wait SET state = 'void' WHERE call = ? AND step = ?").run(call, step);
  }

  /** Adds an open wait, in place of an earlier one of its step and kind. */
  add(call: number, { step, wait, openedMs, expiresMs }: NewWait): void {
    const sql = `INSERT OR REPLACE INTO durable_wait (call, step, kind, state, place, opened_ms, expires_ms, detail)
      VALUES (?, ?, ?, 'open', NULL, ?, ?, ?)`;
    this.#sql(sql).run(call, step, wait.kind, openedMs, expiresMs, JSON.stringify(wait));
  }

  /** `given`: values are JSON. */
  settle(call: number, step: number, state: WaitState, given: Partial<WaitSettlement<string>>, nowMs: number): void {
    const { by = null, actor = null, reason = null, arguments: args = null, data = null } = given;
    const who = JSON.stringify({ at: new Date(nowMs).toISOString(), by, actor, reason });
    // Long integers keep their digits, as the values are not read.
    const settled = `${who.slice(0, -1)},"arguments":${args ?? "null"},"data":${data ?? "null"}}`;
    const last = this.#sql(`SELECT coalesce(max(abs(place)), 0) AS place ${OF_CALL}`).get(call) as {
      readonly place: number;
    };
    const sql =
      "UPDATE durable_wait SET state = ?, place = ?, settled = ? WHERE call = ? AND step = ? AND state = 'open'";
    this.#sql(sql).run(state, last.place + 1, settled, call, step);
  }

  voidOpen(call: number, nowMs: number): void {
    for (const { step } of this.open(call)) this.settle(call, step, "void", {}, nowMs);
  }

  /** Decides open approvals, all or none. Returns the reason if that is impossible, in words; `null` if it is done. */
  decide(call: number, decisions: readonly MadeDecision[], nowMs: number): string | null {
    const open: (readonly [MadeDecision, RunWait])[] = [];
    for (const decision of decisions) {
      const wait = this.#one(call, decision.wait);
      const isOutcome = decision.decision === "happened" || decision.decision === "did_not_happen";
      if (wait?.kind !== (isOutcome ? "outcome" : "approval"))
        return `the call does not wait for ${isOutcome ? "the outcome of an effect" : "an approval"} there`;
      if (wait.kind === "approval" && decision.decision === "approve" && decision.digest !== wait.digest)
        return "to approve, send the digest of what is shown: this is another one, or none";
      if (wait.state === "open") open.push([decision, wait]);
      else if (wait.state === "void") return "the call does not wait for it any more";
      else if (!isRepeated(wait, decision)) return `it is ${wait.state} already`;
    }
    for (const [decision, { step }] of open) this.settle(call, step, stateOf(decision), decision, nowMs);
    return null;
  }

  /** Settles waits by the clock. */
  settleDue(call: number, nowMs: number): void {
    for (const { step, expiresMs, dueMs } of this.open(call)) {
      if ((dueMs ?? Infinity) <= nowMs) this.settle(call, step, "due", {}, nowMs);
      else if ((expiresMs ?? Infinity) <= nowMs) this.settle(call, step, "expired", {}, nowMs);
    }
  }

  /** Time at which the clock next settles a wait; `null` for never. */
  wakeMs(call: number): number | null {
    const timesMs = this.open(call).map(({ expiresMs, dueMs }) => Math.min(expiresMs ?? Infinity, dueMs ?? Infinity));
    const soonestMs = Math.min(...timesMs);
    return soonestMs === Infinity ? null : soonestMs;
  }

  /** Whether there is a settlement that the call has not received. */
  hasUnheard(call: number): boolean {
    return this.#sql(`SELECT 1 ${OF_CALL} AND place > 0 AND state <> 'void' LIMIT 1`).get(call) !== undefined;
  }

  /** Number of settled waits that the call has received. */
  heard(call: number): number {
    return Number(this.#sql(`SELECT count(*) AS waits ${OF_CALL} AND place < 0`).get(call)?.["waits"]);
  }

  /** Marks all settlements as received by the call. */
  hear(call: number): void {
    this.#sql("UPDATE durable_wait SET place = -place WHERE call = ? AND place > 0").run(call);
  }
}

function waitOf<Value>(
  { step, state, opened_ms, expires_ms, detail, settled }: WaitRow,
  read: (settled: string) => unknown,
): CallWait<Value> {
  return {
    ...(JSON.parse(detail) as WaitKind),
    step,
    state,
    openedAt: new Date(opened_ms).toISOString(),
    expiresAt: expires_ms === null ? null : new Date(expires_ms).toISOString(),
    settled: settled === null ? null : (read(settled) as WaitSettlement<Value>),
  };
}

/** Reads a settlement, except its values. */
function asText(settled: string): unknown {
  const { arguments: args, data, ...who } = parseForWriting(settled) as WaitSettlement;
  return { ...who, arguments: textOf(args), data: textOf(data) };
}

function textOf(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

function stateOf({ decision }: MadeDecision): WaitState {
  switch (decision) {
    case "approve":
      return "approved";
    case "refuse":
      return "refused";
    default:
      return decision;
  }
}

/** Whether the same key and person have made the same decision before. */
function isRepeated({ state, settled }: RunWait, decision: MadeDecision): boolean {
  if (state !== stateOf(decision) || settled === null) return false;
  return JSON.stringify(madeBy(settled)) === JSON.stringify(madeBy(decision));
}

function madeBy({ by, actor = null, reason = null, arguments: args, data }: WhoDecides): readonly (string | null)[] {
  return [by, actor, reason, args, data];
}

type WhoDecides = Pick<MadeDecision, "by" | "actor" | "reason" | "arguments" | "data"> | WaitSettlement<string>;
