import { explained } from "../../guest/host.ts";
import { CELL, type TurnSlot } from "../../base/protocol/turn-record.ts";
import type { LineMemory } from "./line-memory.ts";
import { ProcessorClock } from "./processor-clock.ts";
import type { Terminator } from "./terminator.ts";

/**
 * The end of a turn: by itself, cut at its budget or because its result is not needed, at the memory limit, with an
 * uncaught exception, for its tenant's memory, or without its fault because its isolate was ended with an earlier turn.
 */
export type TurnEnd =
  | { readonly kind: "done"; readonly value: string }
  | { readonly kind: "cpu" }
  | { readonly kind: "memory" }
  | { readonly kind: "shed" }
  | { readonly kind: "lost" }
  | { readonly kind: "uncaught"; readonly message: string };

const TIMED_OUT = "Script execution timed out.";
/**
 * V8's own timeout counts elapsed time. It only ends what neither the watch nor the terminator has ended, on a machine
 * that gives a thread at least this share of a processor.
 */
const BACKSTOP_FACTOR = 20;
const BACKSTOP_MS = 2_000;
/** isolated-vm counts milliseconds in 32 bits: an entry with a longer timeout never returns. */
const BACKSTOP_MAX_MS = 2 ** 31 - 1;
/** Prefix of the number of a call for which its realm draws random numbers after its end. */
const AFTER = "after ";

/** The isolate of a turn. */
interface TurnIsolate {
  readonly dead: boolean;
  /** Its number with the terminator. */
  readonly number: number;
  /** Whether the watch has ordered its end for its memory. */
  readonly isShed: boolean;
}

/** The budget of a turn. */
interface Budget {
  /** CPU time used so far, in milliseconds; a turn adds its own. */
  cpuMs: number;
  readonly isolate: TurnIsolate;
  /** The realm that is entered. */
  readonly realm: TurnRealm;
  /** Called at the end of a turn. */
  noteTurn?(startedMs: number, cpuMs: number): void;
}

/** The realm of a turn. */
interface TurnRealm {
  /** The log lines that it has written and the worker has not read. */
  readonly lines: LineMemory | null;
}

/**
 * Turns: short synchronous stays in an isolate, each within the remaining CPU time of its call. The slot in the turn
 * record shows them to the watch, which ends those that use more.
 */
export class Turns {
  readonly #slot: TurnSlot;
  readonly #terminator: Pick<Terminator, "hasEnded">;
  readonly #onEnd: (realm: TurnRealm) => void;
  readonly #clock = new ProcessorClock();
  #realm: TurnRealm | null = null;
  /** Of the current or last turn; negative if it means others, too. */
  #callNumber = 0;
  #startedMs = 0;

  /** `onEnd` is called at the end of a turn, as a part of it: the call is charged for it. */
  constructor(slot: TurnSlot, terminator: Pick<Terminator, "hasEnded">, onEnd: (realm: TurnRealm) => void) {
    this.#slot = slot;
    this.#terminator = terminator;
    this.#onEnd = onEnd;
  }

  /** The realm with the current turn: only its calls may emit. */
  get realm(): TurnRealm | null {
    return this.#realm;
  }

  /**
   * The call that draws random numbers, by the name that a realm gives. A tool with access to its own call object may
   * have forged another call's number: a realm that it can change serves one call, and draws for that alone.
   */
  drawing(run: string): string {
    if (this.#realm === null || this.#realm.lines !== null) return run;
    return run.startsWith(AFTER) ? `${AFTER}${this.#callNumber}` : `${this.#callNumber}`;
  }

  /** Start of the current or last turn, by `performance.now()`. */
  get startedMs(): number {
    return this.#startedMs;
  }

  /** The time from which the delay of results counts: the current time, or after the turn its start. */
  get resultMs(): number {
    return this.#realm === null ? this.#startedMs : performance.now();
  }

  /** Attributes work for a call, such as compiling its script, to that call in the turn record. */
  around<T>(callNumber: number, budgetMs: number, body: () => T): T {
    this.#slot.begin(callNumber, budgetMs, performance.now());
    try {
      return body();
    } finally {
      this.#slot.end();
      this.#clock.skip();
    }
  }

  /** Leaves out the time so far: it was used for no call, and turns after it are not charged for it. */
  skipTime(): void {
    this.#clock.skip();
  }

  enter(callNumber: number, budget: Budget, cpuMs: number, body: (timeoutMs: number) => string | void): TurnEnd {
    const leftMs = cpuMs - budget.cpuMs;
    if (leftMs <= 0) return { kind: "cpu" };
    const startMs = performance.now();
    this.#startedMs = startMs;
    const turn = this.#slot.begin(callNumber, leftMs, startMs, budget.isolate.number);
    this.#realm = budget.realm;
    this.#callNumber = callNumber;
    // isolated-vm takes whole milliseconds.
    const backstopMs = Math.min(BACKSTOP_MAX_MS, Math.ceil(leftMs * BACKSTOP_FACTOR + BACKSTOP_MS));
    try {
      return { kind: "done", value: body(backstopMs) ?? "" };
    } catch (error) {
      return this.#classify(error, turn, budget.isolate, performance.now() - startMs >= backstopMs - 1);
    } finally {
      this.#onEnd(budget.realm);
      this.#realm = null;
      const usedMs = this.#clock.charge(performance.now() - startMs);
      budget.cpuMs += usedMs;
      budget.noteTurn?.(startMs, usedMs);
      this.#slot.end();
    }
  }

  /** The text of `error` may be the tool's own, so the terminator, a disposed isolate and the clock take precedence. */
  #classify(error: unknown, turn: number, isolate: TurnIsolate, isOver: boolean): TurnEnd {
    if (Atomics.load(this.#slot.cells, CELL.ended) === turn) return { kind: "cpu" };
    if (isolate.dead && isolate.isShed) return { kind: "shed" };
    if (isolate.dead) return { kind: this.#terminator.hasEnded(isolate.number) ? "lost" : "memory" };
    const message = error instanceof Error ? error.message : String(error);
    if (isOver && message === TIMED_OUT) return { kind: "cpu" };
    return { kind: "uncaught", message: explained(message.slice(0, 1_000)) };
  }
}
