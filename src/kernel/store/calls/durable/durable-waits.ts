import type { StatementSync } from "node:sqlite";
import {
  type CallWait,
  isSameWait,
  isSettled,
  type MadeDecision,
  type NewWait,
  type WaitKind,
  WAITS_MAX,
  type WaitSettlement,
  type WaitState,
} from "./durable-call.ts";

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
  /** When its time comes; `null` for a wait for something else. */
  readonly dueMs: number | null;
}

const OF_CALL = "FROM durable_wait WHERE call = ?";
const COLUMNS = "step, state, opened_ms, expires_ms, detail, settled";

/** Waits of calls in the tables of `DurableTables`. `place`: the order in which they were settled; negative once the call has heard of it. */
export class DurableWaits {
  readonly #sql: (sql: string) => StatementSync;

  constructor(sql: (sql: string) => StatementSync) {
    this.#sql = sql;
  }

  /** Waits of a call in the order in which they were settled, then those that are open. */
  all(call: number): readonly CallWait[] {
    const sql = `SELECT ${COLUMNS} ${OF_CALL} ORDER BY place IS NULL, abs(place), step`;
    return (this.#sql(sql).all(call) as unknown as readonly WaitRow[]).map(waitOf);
  }

  open(call: number): readonly OpenWait[] {
    const rows = this.#sql(`SELECT ${COLUMNS} ${OF_CALL} AND state = 'open' ORDER BY step`).all(call);
    return (rows as unknown as readonly WaitRow[]).map(({ step, expires_ms, detail }) => {
      const wait = JSON.parse(detail) as WaitKind;
      return { step, wait, expiresMs: expires_ms, dueMs: wait.kind === "time" ? Date.parse(wait.until) : null };
    });
  }

  /** The waits of a run that are settled already. */
  settledAmong(call: number, given: readonly NewWait[]): readonly CallWait[] {
    const listed = new Map(given.map((one) => [one.step, one.wait]));
    return this.all(call).filter((wait) => {
      const now = listed.get(wait.step);
      return now !== undefined && isSettled(wait) && isSameWait(wait, now);
    });
  }

  excessOf(given: readonly NewWait[]): string | null {
    return given.length > WAITS_MAX ? `a call may wait for ${WAITS_MAX} things at once` : null;
  }

  /** Adds waits that are not there yet; those that the run does not list any more are void. */
  put(call: number, given: readonly NewWait[]): void {
    const known = new Map(this.all(call).map((wait) => [wait.step, wait]));
    const add = `INSERT OR REPLACE INTO durable_wait (call, step, state, place, opened_ms, expires_ms, detail)
      VALUES (?, ?, 'open', NULL, ?, ?, ?)`;
    for (const { step, wait, openedMs, expiresMs } of given) {
      const before = known.get(step);
      known.delete(step);
      if (before !== undefined && before.state === "open" && isSameWait(before, wait)) continue;
      this.#sql(add).run(call, step, openedMs, expiresMs, JSON.stringify(wait));
    }
    for (const { step, state } of known.values())
      if (state === "open")
        this.#sql("UPDATE durable_wait SET state = 'void' WHERE call = ? AND step = ?").run(call, step);
  }

  settle(call: number, step: number, state: WaitState, given: Partial<WaitSettlement>, nowMs: number): void {
    const { by = null, actor = null, reason = null, arguments: args = null, data = null } = given;
    const settled: WaitSettlement = { at: new Date(nowMs).toISOString(), by, actor, reason, arguments: args, data };
    const last = this.#sql(`SELECT coalesce(max(abs(place)), 0) AS place ${OF_CALL}`).get(call) as {
      readonly place: number;
    };
    const sql =
      "UPDATE durable_wait SET state = ?, place = ?, settled = ? WHERE call = ? AND step = ? AND state = 'open'";
    this.#sql(sql).run(state, last.place + 1, JSON.stringify(settled), call, step);
  }

  voidOpen(call: number, nowMs: number): void {
    for (const { step } of this.open(call)) this.settle(call, step, "void", {}, nowMs);
  }

  /** Decides open approvals, all or none. Returns why that is impossible, in words; `null` where it is done. */
  decide(call: number, decisions: readonly MadeDecision[], nowMs: number): string | null {
    const waits = new Map(this.all(call).map((wait) => [wait.step, wait]));
    const open: (readonly [MadeDecision, CallWait])[] = [];
    for (const decision of decisions) {
      const wait = waits.get(decision.wait ?? -1);
      if (wait?.kind !== "approval") return "the call does not wait for an approval there";
      if (decision.decision === "approve" && decision.digest !== wait.digest)
        return "to approve, send the digest of what is shown: this is another one, or none";
      if (wait.state === "open") open.push([decision, wait]);
      else if (!isRepeated(wait, decision)) return `it is ${wait.state} already`;
    }
    for (const [decision, { step }] of open) {
      const { by, actor = null, reason = null, arguments: args = null, data = null } = decision;
      const state = decision.decision === "approve" ? "approved" : "refused";
      this.settle(call, step, state, { by, actor, reason, arguments: args, data }, nowMs);
    }
    return null;
  }

  /** Settles what the clock settles. `isOver`: the call itself has come to its end. */
  settleDue(call: number, nowMs: number, isOver: boolean): void {
    for (const { step, expiresMs, dueMs } of this.open(call)) {
      if ((dueMs ?? Infinity) <= nowMs) this.settle(call, step, "due", {}, nowMs);
      else if (isOver || (expiresMs ?? Infinity) <= nowMs) this.settle(call, step, "expired", {}, nowMs);
    }
  }

  /** When the clock next settles something; `null` for never. */
  wakeMs(call: number): number | null {
    const timesMs = this.open(call).map(({ expiresMs, dueMs }) => Math.min(expiresMs ?? Infinity, dueMs ?? Infinity));
    const soonestMs = Math.min(...timesMs);
    return soonestMs === Infinity ? null : soonestMs;
  }

  /** Whether something was settled that the call has not heard of. */
  hasUnheard(call: number): boolean {
    return this.#sql(`SELECT 1 ${OF_CALL} AND place > 0 AND state <> 'void' LIMIT 1`).get(call) !== undefined;
  }

  /** The call hears of all that is settled. */
  hear(call: number): void {
    this.#sql("UPDATE durable_wait SET place = -place WHERE call = ? AND place > 0").run(call);
  }
}

function waitOf({ step, state, opened_ms, expires_ms, detail, settled }: WaitRow): CallWait {
  return {
    ...(JSON.parse(detail) as WaitKind),
    step,
    state,
    openedAt: new Date(opened_ms).toISOString(),
    expiresAt: expires_ms === null ? null : new Date(expires_ms).toISOString(),
    settled: settled === null ? null : (JSON.parse(settled) as WaitSettlement),
  };
}

/** Whether the same decision was made before. */
function isRepeated(
  { state, settled }: CallWait,
  { decision, arguments: args = null, data = null }: MadeDecision,
): boolean {
  if (state !== (decision === "approve" ? "approved" : "refused") || settled === null) return false;
  return JSON.stringify([settled.arguments, settled.data]) === JSON.stringify([args, data]);
}
