import type { TurnSlot } from "../../base/protocol/turn-record.ts";

/** How a turn ended: by itself, cut at its budget, at the memory limit, or with an exception nobody caught. */
export type TurnEnd =
  | { readonly kind: "done"; readonly value: string }
  | { readonly kind: "cpu" }
  | { readonly kind: "memory" }
  | { readonly kind: "uncaught"; readonly message: string };

const TIMED_OUT = "Script execution timed out.";

/** What a turn is taken from. */
interface Budget {
  /** Processor time used so far, in milliseconds; a turn adds its own. */
  cpuMs: number;
  readonly isolate: { readonly dead: boolean };
  /** The realm that is entered. */
  readonly realm: object;
}

/**
 * Turns: short synchronous stays in an isolate, each within what is left of its call's processor time. The slot in
 * the turn record lets the watcher see a turn that V8's own timeout cannot end.
 */
export class Turns {
  readonly #slot: TurnSlot;
  #realm: object | null = null;

  constructor(slot: TurnSlot) {
    this.#slot = slot;
  }

  /** The realm whose turn it is: only its calls have something to say. */
  get realm(): object | null {
    return this.#realm;
  }

  /** Puts work that is not the tool's own, such as compiling its script, down to the call it is done for. */
  around<T>(run: number, budgetMs: number, body: () => T): T {
    this.#slot.begin(run, budgetMs, performance.now());
    try {
      return body();
    } finally {
      this.#slot.end();
    }
  }

  enter(run: number, budget: Budget, cpuMs: number, body: (timeoutMs: number) => string | void): TurnEnd {
    const leftMs = cpuMs - budget.cpuMs;
    if (leftMs <= 0) return { kind: "cpu" };
    const startMs = performance.now();
    this.#slot.begin(run, leftMs, startMs);
    this.#realm = budget.realm;
    try {
      // Rounded up: isolated-vm takes whole milliseconds, and none would mean no limit.
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

/** The text of `error` may be the tool's own, so a disposed isolate and the clock speak before it does. */
function classify(error: unknown, dead: boolean, isOver: boolean): TurnEnd {
  if (dead) return { kind: "memory" };
  const message = error instanceof Error ? error.message : String(error);
  return isOver && message === TIMED_OUT ? { kind: "cpu" } : { kind: "uncaught", message: message.slice(0, 1_000) };
}
