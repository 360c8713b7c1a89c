import type { TurnSlot } from "../../base/protocol/turn-record.ts";

/** The end of a turn: by itself, cut at its budget, at the memory limit, or with an uncaught exception. */
export type TurnEnd =
  | { readonly kind: "done"; readonly value: string }
  | { readonly kind: "cpu" }
  | { readonly kind: "memory" }
  | { readonly kind: "uncaught"; readonly message: string };

const TIMED_OUT = "Script execution timed out.";

/** The budget of a turn. */
interface Budget {
  /** CPU time used so far, in milliseconds; a turn adds its own. */
  cpuMs: number;
  readonly isolate: { readonly dead: boolean };
  /** The realm that is entered. */
  readonly realm: object;
}

/**
 * Turns: short synchronous stays in an isolate, each within the remaining CPU time of its call. The slot in the turn
 * record shows the watch a turn that V8's own timeout cannot end.
 */
export class Turns {
  readonly #slot: TurnSlot;
  #realm: object | null = null;
  #startedMs = 0;

  constructor(slot: TurnSlot) {
    this.#slot = slot;
  }

  /** The realm with the current turn: only its calls may emit. */
  get realm(): object | null {
    return this.#realm;
  }

  /** Start of the current or last turn, by `performance.now()`. */
  get startedMs(): number {
    return this.#startedMs;
  }

  /** Attributes work for a call, such as compiling its script, to that call in the turn record. */
  around<T>(callNumber: number, budgetMs: number, body: () => T): T {
    this.#slot.begin(callNumber, budgetMs, performance.now());
    try {
      return body();
    } finally {
      this.#slot.end();
    }
  }

  enter(callNumber: number, budget: Budget, cpuMs: number, body: (timeoutMs: number) => string | void): TurnEnd {
    const leftMs = cpuMs - budget.cpuMs;
    if (leftMs <= 0) return { kind: "cpu" };
    const startMs = performance.now();
    this.#startedMs = startMs;
    this.#slot.begin(callNumber, leftMs, startMs);
    this.#realm = budget.realm;
    try {
      // Rounded up: isolated-vm takes whole milliseconds, and 0 would mean no limit.
      return { kind: "done", value: body(Math.ceil(leftMs)) ?? "" };
    } catch (error) {
      return classify(error, budget.isolate.dead, performance.now() - startMs >= leftMs - 1);
    } finally {
      this.#realm = null;
      budget.cpuMs += performance.now() - startMs;
      this.#slot.end();
    }
  }
}

/** The text of `error` may be the tool's own, so a disposed isolate and the clock take precedence. */
function classify(error: unknown, dead: boolean, isOver: boolean): TurnEnd {
  if (dead) return { kind: "memory" };
  const message = error instanceof Error ? error.message : String(error);
  return isOver && message === TIMED_OUT ? { kind: "cpu" } : { kind: "uncaught", message: message.slice(0, 1_000) };
}
