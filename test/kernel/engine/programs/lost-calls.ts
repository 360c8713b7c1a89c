import { writeSync } from "node:fs";
import { open as openRedis } from "../../../../src/fleet/kept-calls/redis-kept-calls.ts";
import type { JournalPart } from "../../../../src/kernel/base/protocol/recorded-journal.ts";
import type {
  DurableAnswer,
  DurableStep,
  TakeDurable,
} from "../../../../src/kernel/store/calls/durable/durable-step.ts";
import { DEFAULT_KEYS } from "../../../../src/kernel/store/calls/ledger.ts";
import type { CallBackend, OpenCalls } from "../../../../src/kernel/store/calls/thread/call-backend.ts";
import { FileCalls } from "../../../../src/kernel/store/calls/thread/file-calls.ts";
import { StepLine } from "../../../../src/kernel/store/calls/thread/step-line.ts";
import { LOST_ROWS, type LostRow } from "../durable/lost-rows.ts";

/** Where calls are, as a program tells its store's thread. */
interface Place {
  readonly path?: string;
}

/**
 * The store of calls of a place, which answers nothing more for a call that is where its process is to be killed. It says
 * so: `{ "at": NAME }`. All but that is as in the store itself.
 */
export const open: OpenCalls = async (own, room) => {
  const { path } = own as Place;
  const file = path === undefined ? null : await FileCalls.open({ ...room, path, keys: DEFAULT_KEYS }, () => undefined);
  const calls: CallBackend = file ?? (await openRedis(own, room));
  const take = file === null ? calls.takeDurable?.bind(calls) : takeIn(file);
  if (take === undefined) throw new Error("calls cannot wait in this place");
  const held = new HeldCalls(take);
  return {
    get bytes() {
      return calls.bytes;
    },
    patienceMs: calls.patienceMs,
    add: (rows) => calls.add(rows),
    list: (query) => calls.list(query),
    get: (id, tenant) => calls.get(id, tenant),
    run: (id, tenant) => calls.run(id, tenant),
    detail: (at) => calls.detail(at),
    sweep: (nowMs) => calls.sweep(nowMs),
    watch: (tell) => calls.watch(tell),
    takeDurable: (step) => held.take(step),
    close: () => calls.close(),
  } satisfies CallBackend;
};

/** Takes steps in a file as the store's thread does. */
function takeIn({ file }: FileCalls): TakeDurable {
  const asked = new Map<number, PromiseWithResolvers<DurableAnswer>>();
  let last = 0;
  const line = new StepLine<DurableStep, DurableAnswer>(
    (steps) => file.durable((tables) => tables.take(steps)),
    (answers) => {
      for (const [ask, answer, failure] of answers) {
        if (answer === null) asked.get(ask)?.reject(new Error(failure ?? ""));
        else asked.get(ask)?.resolve(answer);
        asked.delete(ask);
      }
    },
  );
  return (step) => {
    const answer = Promise.withResolvers<DurableAnswer>();
    asked.set(++last, answer);
    line.take([[last, step]]);
    return answer.promise;
  };
}

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
