/** Timers of one call. Its worker sets one timer for the earliest of them and enters a turn when it is due. */

type Callback = (...args: unknown[]) => unknown;

interface Timer {
  readonly id: number;
  readonly callback: Callback;
  readonly args: readonly unknown[];
  /** 0 for a timeout. */
  readonly intervalMs: number;
  dueMs: number;
  live: boolean;
}

const TIMERS_MAX = 10_000;
const DELAY_MAX_MS = 2 ** 31 - 1;

export class Timers {
  readonly #nowMs: () => number;
  readonly #arm: (dueMs: number) => void;
  /** A binary heap, earliest first; ids break ties, so that timers fire in the order in which they were set. */
  #heap: Timer[] = [];
  readonly #byId = new Map<number, Timer>();
  #lastId = 0;
  #armedMs = Number.POSITIVE_INFINITY;

  constructor(nowMs: () => number, arm: (dueMs: number) => void) {
    this.#nowMs = nowMs;
    this.#arm = arm;
  }

  set(callback: unknown, delayMs: unknown, args: readonly unknown[], repeat: boolean): number {
    if (typeof callback !== "function") throw new TypeError("a timer needs a function");
    if (this.#byId.size >= TIMERS_MAX) throw new RangeError(`a call may hold at most ${TIMERS_MAX} timers`);
    const delay = Math.min(Math.max(1, Math.trunc(Number(delayMs)) || 1), DELAY_MAX_MS);
    const timer: Timer = {
      id: ++this.#lastId,
      callback: callback as Callback,
      args,
      intervalMs: repeat ? delay : 0,
      dueMs: this.#nowMs() + delay,
      live: true,
    };
    this.#byId.set(timer.id, timer);
    this.#push(timer);
    this.#armEarliest();
    return timer.id;
  }

  clear(id: unknown): void {
    const timer = this.#byId.get(Number(id));
    if (timer === undefined) return;
    timer.live = false;
    this.#byId.delete(timer.id);
  }

  /** Runs the due timers. An exception of a callback goes to `onError`; the others still run. */
  fire(onError: (error: unknown) => void): void {
    const nowMs = this.#nowMs();
    this.#armedMs = Number.POSITIVE_INFINITY;
    // Timers set by these callbacks wait for the next turn, or an interval of 1 ms would run forever.
    const due: Timer[] = [];
    for (let first = this.#heap[0]; first !== undefined && first.dueMs <= nowMs; first = this.#heap[0]) {
      this.#pop();
      if (first.live) due.push(first);
    }
    for (const timer of due) {
      if (!timer.live) continue;
      if (timer.intervalMs === 0) this.clear(timer.id);
      try {
        Reflect.apply(timer.callback, undefined, timer.args);
      } catch (error) {
        onError(error);
      }
      if (!timer.live || timer.intervalMs === 0) continue;
      timer.dueMs = nowMs + timer.intervalMs;
      this.#push(timer);
    }
    this.#armEarliest();
  }

  end(): void {
    this.#heap = [];
    this.#byId.clear();
  }

  #armEarliest(): void {
    let first = this.#heap[0];
    while (first !== undefined && !first.live) {
      this.#pop();
      first = this.#heap[0];
    }
    if (first === undefined || first.dueMs >= this.#armedMs) return;
    this.#armedMs = first.dueMs;
    this.#arm(first.dueMs);
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt];
      if (parent === undefined || !isBefore(timer, parent)) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = heap[childAt];
      if (child === undefined) break;
      const right = heap[childAt + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        childAt++;
      }
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.id < b.id);
}
