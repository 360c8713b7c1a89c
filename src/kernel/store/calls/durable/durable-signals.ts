import { SIGNALS_MAX } from "./durable-call.ts";
import type { DurableStep } from "./durable-step.ts";
import type { DurableRow } from "./durable-layout.ts";
import type { DurableRows } from "./durable-rows.ts";

type SentSignal = Extract<DurableStep, { readonly kind: "signal" }>;

/** Signals of calls, kept until the calls wait for them. */
export class DurableSignals {
  readonly #rows: DurableRows;
  readonly #callBytes: number;

  constructor(rows: DurableRows, callBytes: number) {
    this.#rows = rows;
    this.#callBytes = callBytes;
  }

  /** Adds a signal, and settles a wait for it. Returns the reason if that is impossible; `null` if it is done. */
  send({ n, bytes }: DurableRow, { name, payload, by, nowMs }: SentSignal): string | null {
    const unread = this.#rows
      .sql("SELECT count(*) AS count, coalesce(max(seq), 0) AS last FROM durable_signal WHERE call = ?")
      .get(n) as {
      readonly count: number;
      readonly last: number;
    };
    if (unread.count >= SIGNALS_MAX) return `the call has ${SIGNALS_MAX} signals that it has not read`;
    if (bytes + payload.length > this.#callBytes)
      return `what is kept of the call would have more than ${this.#callBytes} bytes`;
    this.#rows.sql("INSERT INTO durable_signal VALUES (?, ?, ?, ?, ?)").run(n, name, unread.last + 1, by, payload);
    const wait = this.#rows.waits.open(n).find((one) => one.wait.kind === "signal" && one.wait.name === name);
    // A running call receives it at its next wait.
    if (wait !== undefined) this.hear(n, wait.step, name, nowMs);
    return null;
  }

  /** Settles a wait with the oldest signal of its name; leaves it open without one. */
  hear(n: number, step: number, name: string, nowMs: number): void {
    const of = "FROM durable_signal WHERE call = ? AND name = ? ORDER BY seq LIMIT 1";
    const signal = this.#rows.sql(`SELECT seq, sender, payload ${of}`).get(n, name) as
      { readonly seq: number; readonly sender: string | null; readonly payload: string } | undefined;
    if (signal === undefined) return;
    this.#rows.sql("DELETE FROM durable_signal WHERE call = ? AND name = ? AND seq = ?").run(n, name, signal.seq);
    this.#rows.waits.settle(n, step, "arrived", { data: signal.payload, by: signal.sender }, nowMs);
  }
}
