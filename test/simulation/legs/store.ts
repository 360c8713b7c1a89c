import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../src/kernel/base/errors.ts";
import { DEFAULT_DURABLE } from "../../../src/kernel/store/calls/durable/durable-call.ts";
import { DURABLE_SQL } from "../../../src/kernel/store/calls/durable/durable-layout.ts";
import type { DurableStep, TakeDurable } from "../../../src/kernel/store/calls/durable/durable-step.ts";
import { DurableTables } from "../../../src/kernel/store/calls/durable/durable-tables.ts";
import { SimThread, type World } from "../world.ts";
import { CallStates } from "./states.ts";

/** Time after which an answer that was lost is missed, in milliseconds. */
const MISSED_MS = 400;

/** Longest way of a slow step or its answer, in milliseconds: timers fire meanwhile. */
const SLOW_MS = 150;

/** Shares of steps that the store refuses, of those whose answers are lost, as they were taken or not, and of slow ones. */
export interface StoreFaults {
  readonly refused: number;
  readonly lost: number;
  readonly slow: number;
}

export interface StoredRow {
  readonly id: string;
  readonly call_id: string;
  readonly state: string;
  readonly result: string | null;
}

/** The store of calls that wait: the product's tables, on a thread that outlives the engines. */
export class SimStore implements Disposable {
  readonly #thread = new SimThread("store");
  readonly #database = new DatabaseSync(":memory:");
  readonly #tables: DurableTables;
  readonly #states: CallStates;
  readonly #world: World;
  readonly #onTaken: (step: DurableStep, main: SimThread) => void;
  #open: number | null = null;
  faults: StoreFaults;

  /** `onTaken`: a step was taken, and nobody has its answer yet. */
  constructor(world: World, faults: StoreFaults, onTaken: (step: DurableStep, main: SimThread) => void) {
    this.#world = world;
    this.#onTaken = onTaken;
    this.faults = faults;
    this.#database.exec(DURABLE_SQL);
    this.#tables = new DurableTables(this.#database, DEFAULT_DURABLE);
    this.#states = new CallStates(this.#database, (text) => world.violate(text));
  }

  /** The store as an engine has it. */
  takeFor(main: SimThread): TakeDurable {
    const world = this.#world;
    return (step) => {
      const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<TakeDurable>>>();
      const told = structuredClone(step);
      const isLost = world.random.chance(this.faults.lost);
      const isTaken = !isLost || world.random.chance(0.5);
      const isRefused = !isLost && world.random.chance(this.faults.refused);
      const wayMs = this.faults.slow > 0 && world.random.chance(this.faults.slow) ? SLOW_MS : 1;
      const way = () => world.random.between(0.05, wayMs);
      world.later(this.#thread, way(), "", () => {
        if (isRefused) return world.later(main, way(), `${step.kind} is refused`, () => reject(new StoreError("full")));
        const answer = isTaken ? this.#take(told) : undefined;
        if (isTaken) this.#onTaken(told, main);
        if (answer !== undefined && !isLost) return world.later(main, way(), "", () => resolve(answer));
        const missed = new StoreError("no answer", { isUnanswered: true });
        world.later(main, MISSED_MS, `${step.kind} has no answer`, () => reject(missed));
      });
      return promise;
    };
  }

  #take(step: DurableStep) {
    const [answer] = this.#tables.take([step]);
    this.#open = null;
    this.#states.check(step, answer);
    if (this.#world.trace !== null && step.kind !== "see" && step.kind !== "due")
      this.#world.note(`${step.kind}: ${JSON.stringify(answer).slice(0, 200)}`);
    return answer;
  }

  rows(): readonly StoredRow[] {
    const sql = "SELECT id, call_id, state, result FROM durable ORDER BY n";
    return this.#database.prepare(sql).all() as unknown as readonly StoredRow[];
  }

  /** Number of calls that have not ended. */
  get open(): number {
    return (this.#open ??= this.rows().filter(({ state }) => state !== "ended").length);
  }

  /** Bytes that are counted, and those that the rows say. */
  books(): readonly [counted: number, summed: number] {
    const sum = (sql: string) => Number(this.#database.prepare(sql).get()?.["bytes"] ?? 0);
    const scripts = sum("SELECT sum(octet_length(text)) AS bytes FROM durable_script");
    return [sum("SELECT bytes FROM durable_total"), sum("SELECT sum(bytes) AS bytes FROM durable") + scripts];
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
