import { writeSync } from "node:fs";
import type { JournalPart } from "../../../../src/kernel/base/protocol/recorded-journal.ts";
import type {
  DurableAnswer,
  DurableStep,
  TakeDurable,
} from "../../../../src/kernel/store/calls/durable/durable-step.ts";
import type { OpenCalls } from "../../../../src/kernel/store/calls/thread/call-backend.ts";
import { LOST_ROWS, type LostRow } from "../durable/lost-rows.ts";
import { openPlace } from "./placed-calls.ts";

/**
 * The store of calls of a place, which answers nothing more for a call that is where its process is to be killed. It says
 * so: `{ "at": NAME }`. All but that is as in the store itself.
 */
export const open: OpenCalls = (place, room) =>
  openPlace(place, room, (take) => {
    const held = new HeldCalls(take);
    return (step) => held.take(step);
  });

/** A call that is held once it is at its point. */
interface Held {
  readonly row: LostRow;
  /** Effects that it has announced. */
  readonly begun: Set<number>;
  isThere: boolean;
}

class HeldCalls {
  readonly #take: TakeDurable;
  readonly #calls = new Map<string, Held>();

  constructor(take: TakeDurable) {
    this.#take = take;
  }

  async take(step: DurableStep): Promise<DurableAnswer> {
    this.#learn(step);
    const held = "id" in step && step.kind !== "get" ? this.#calls.get(step.id) : this.#pausing(step);
    if (held === undefined) return this.#take(step);
    if (!held.isThere && !isThere(held, step)) return this.#take(step);
    if (!held.isThere) {
      // An announcement is stored, and its process does not hear of it.
      if (held.row.point === "announced") await this.#take(step);
      held.isThere = true;
      writeSync(1, `${JSON.stringify({ at: held.row.name })}\n`);
    }
    return new Promise(() => undefined);
  }

  #pausing(step: DurableStep): Held | undefined {
    return step.kind === "pause" ? this.#calls.get(step.call.id) : undefined;
  }

  /** Finds out which call of the rows an id is. */
  #learn(step: DurableStep): void {
    if (step.kind !== "start" && step.kind !== "pause") return;
    const { id, made } = step.call;
    if (made === null || this.#calls.has(id)) return;
    const row = LOST_ROWS.find(({ name, below }) => (below === undefined ? name === made.callId : below === made.tool));
    if (row !== undefined) this.#calls.set(id, { row, begun: new Set(), isThere: false });
  }
}

function isThere({ row: { point, nth = 2 }, begun }: Held, step: DurableStep): boolean {
  switch (point) {
    case "reading":
      return false;
    case "pausing":
      return step.kind === "pause";
    case "announced":
      if (step.kind !== "append") return false;
      for (const { seq, part } of step.lines) if (part === null) begun.add(seq);
      return begun.size >= nth;
    case "done":
      return step.kind === "append" && step.lines.some(({ part }) => part !== null && hasAnswer(part, nth));
  }
}

function hasAnswer(part: string, step: number): boolean {
  return (JSON.parse(part) as JournalPart).answers.some((answer) => answer.step === step);
}
