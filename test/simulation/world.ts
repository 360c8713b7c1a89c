import { syncBuiltinESMExports } from "node:module";
import promisedTimers from "node:timers/promises";
import { Random } from "./random.ts";

/** A thread of the simulation: it does one thing at a time, and what it does takes time. */
export class SimThread {
  readonly name: string;
  isAlive = true;
  /** It begins nothing new until then. */
  busyUntilMs = 0;
  /** Processor time so far, in milliseconds. */
  cpuMs = 0;
  /** Timers and immediates that wait. */
  readonly waiting = new Set<Waiting>();

  constructor(name: string) {
    this.name = name;
  }

  /** It is gone between two steps, with all that it was about to do. */
  kill(): void {
    this.isAlive = false;
    this.waiting.clear();
  }
}

interface Step {
  readonly seq: number;
  readonly thread: SimThread;
  readonly what: string;
  readonly run: () => void;
  atMs: number;
}

/** A timer as Node returns it. */
class Waiting {
  readonly thread: SimThread;
  readonly everyMs: number | null;
  /** Where it was set, for messages; only where traces are kept. */
  readonly from: string;
  isOver = false;

  constructor(thread: SimThread, everyMs: number | null, from: string) {
    this.thread = thread;
    this.everyMs = everyMs;
    this.from = from;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

const EPOCH_MS = 1_800_000_000_000;
/** Steps of a simulation, at most: one that goes on for ever is a fault. */
const STEPS_MAX = 200_000;
const IMMEDIATE_MS = 0.001;

const realNextTick = process.nextTick.bind(process);
/** Resolves when all microtasks have run. */
const settled = (): Promise<void> => new Promise((resolve) => realNextTick(resolve));

/** Virtual time, the threads that live in it, and the order in which they take steps. All of it follows from the seed. */
export class World {
  readonly random: Random;
  readonly main = new SimThread("main");
  nowMs = 0;
  /** By how much the clock of the machine was set ahead. */
  clockMs = 0;
  current: SimThread = this.main;
  steps = 0;
  /** What must never be, and was. */
  readonly violations: string[] = [];
  /** `null` where nobody reads it. */
  readonly trace: string[] | null;
  readonly #queue: Step[] = [];
  #seq = 0;
  #spentMs = 0;
  #ticks: { readonly thread: SimThread; readonly run: () => void }[] = [];

  constructor(seed: number, isTraced: boolean) {
    this.random = new Random(seed);
    this.trace = isTraced ? [] : null;
  }

  note(text: string): void {
    this.trace?.push(`${this.nowMs.toFixed(3).padStart(10)} ${this.current.name.padEnd(9)} ${text}`);
  }

  violate(text: string): void {
    this.note(`VIOLATION ${text}`);
    this.violations.push(text);
  }

  /** The time within the current step. */
  get timeMs(): number {
    return this.nowMs + this.#spentMs;
  }

  /** Has a thread do something at a time, or as soon as it is free. `what`: for the trace. */
  at(thread: SimThread, atMs: number, what: string, run: () => void): void {
    this.#push({ seq: ++this.#seq, thread, what, run, atMs });
  }

  later(thread: SimThread, afterMs: number, what: string, run: () => void): void {
    this.at(thread, this.timeMs + afterMs, what, run);
  }

  /** The current step takes so much longer. */
  spend(ms: number): void {
    this.#spentMs += ms;
  }

  /** Does something now as another thread, within the current step. */
  as(thread: SimThread, run: () => void): void {
    const { current } = this;
    this.current = thread;
    try {
      run();
    } finally {
      this.current = current;
    }
  }

  /** Takes steps until nothing is left, or this holds. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const step = this.#pop();
      if (step === undefined) return;
      const { thread } = step;
      if (!thread.isAlive) continue;
      if (thread.busyUntilMs > step.atMs) {
        step.atMs = thread.busyUntilMs;
        this.#push(step);
        continue;
      }
      if (++this.steps > STEPS_MAX) return this.violate("the simulation takes no end");
      await this.#take(step);
    }
  }

  async #take({ thread, atMs, what, run }: Step): Promise<void> {
    this.nowMs = Math.max(this.nowMs, atMs);
    this.current = thread;
    this.#spentMs = 0;
    if (this.trace !== null && what !== "") this.note(what);
    try {
      run();
    } catch (error) {
      this.#fail(thread, error);
    }
    do {
      const ticks = this.#ticks;
      this.#ticks = [];
      for (const tick of ticks) {
        if (!tick.thread.isAlive) continue;
        try {
          tick.run();
        } catch (error) {
          this.#fail(thread, error);
        }
      }
      await settled();
    } while (this.#ticks.length > 0);
    thread.busyUntilMs = this.nowMs + this.#spentMs;
    thread.cpuMs += this.#spentMs;
    this.#spentMs = 0;
  }

  #fail(thread: SimThread, error: unknown): void {
    if (!thread.isAlive) return;
    this.violate(`${thread.name} threw: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }

  tick(run: () => void): void {
    this.#ticks.push({ thread: this.current, run });
  }

  wait(run: () => void, ms: number, isInterval: boolean): Waiting {
    const afterMs = Math.max(1, Math.trunc(ms) || 1);
    return this.#wait(run, afterMs, isInterval ? afterMs : null);
  }

  immediate(run: () => void): Waiting {
    return this.#wait(run, IMMEDIATE_MS, null);
  }

  #wait(run: () => void, afterMs: number, everyMs: number | null): Waiting {
    const { current: thread } = this;
    const from = this.trace === null ? "" : (new Error().stack?.split("\n")[4]?.trim() ?? "");
    const waiting = new Waiting(thread, everyMs, from);
    thread.waiting.add(waiting);
    const fire = (): void => {
      if (waiting.isOver) return;
      if (everyMs === null) this.clear(waiting);
      else this.later(thread, everyMs, "", fire);
      run();
    };
    this.later(thread, afterMs, "", fire);
    return waiting;
  }

  clear(waiting: unknown): void {
    if (!(waiting instanceof Waiting)) return;
    waiting.isOver = true;
    waiting.thread.waiting.delete(waiting);
  }

  #push(step: Step): void {
    const queue = this.#queue;
    let at = queue.length;
    queue.push(step);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = queue[above];
      if (parent === undefined || !isBefore(step, parent)) break;
      queue[at] = parent;
      at = above;
    }
    queue[at] = step;
  }

  #pop(): Step | undefined {
    const queue = this.#queue;
    const [first] = queue;
    const last = queue.pop();
    if (last === undefined || queue.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      let child = queue[below];
      if (child === undefined) break;
      const right = queue[below + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        below++;
      }
      if (!isBefore(child, last)) break;
      queue[at] = child;
      at = below;
    }
    queue[at] = last;
    return first;
  }
}

function isBefore(one: Step, other: Step): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.seq < other.seq);
}

let entered = new World(0, false);

/** The world of the simulation that runs, or ran last. */
export function currentWorld(): World {
  return entered;
}

export function enterWorld(world: World): World {
  return (entered = world);
}

type Callback = (...args: unknown[]) => void;

/**
 * Gives the clocks and timers of this process to a world, until the returned object is disposed: the product's classes take
 * them from there.
 */
export function inhabit(world: () => World): Disposable {
  const bound = (run: Callback, args: readonly unknown[]) => (args.length === 0 ? run : () => run(...args));
  const replaced: readonly (readonly [object, string, unknown])[] = [
    [
      globalThis,
      "setTimeout",
      (run: Callback, ms = 1, ...args: unknown[]) => world().wait(bound(run, args), ms, false),
    ],
    [
      globalThis,
      "setInterval",
      (run: Callback, ms = 1, ...args: unknown[]) => world().wait(bound(run, args), ms, true),
    ],
    [globalThis, "setImmediate", (run: Callback, ...args: unknown[]) => world().immediate(bound(run, args))],
    [globalThis, "clearTimeout", (waiting: unknown) => world().clear(waiting)],
    [globalThis, "clearInterval", (waiting: unknown) => world().clear(waiting)],
    [globalThis, "clearImmediate", (waiting: unknown) => world().clear(waiting)],
    [process, "nextTick", (run: Callback, ...args: unknown[]) => world().tick(bound(run, args))],
    [process, "cpuUsage", () => ({ user: 0, system: 0 })],
    [process, "threadCpuUsage", () => ({ user: world().current.cpuMs * 1_000, system: 0 })],
    [process, "hrtime", () => hrtimeOf(world().timeMs)],
    [performance, "now", () => world().timeMs],
    [performance, "timeOrigin", EPOCH_MS],
    [Date, "now", () => Math.floor(EPOCH_MS + world().clockMs + world().timeMs)],
    [
      promisedTimers,
      "setTimeout",
      (ms = 1, value?: unknown) => new Promise((resolve) => world().wait(() => resolve(value), ms, false)),
    ],
  ];
  const before = replaced.map(([owner, name]) => Object.getOwnPropertyDescriptor(owner, name));
  for (const [owner, name, value] of replaced) {
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  }
  // Modules that have imported it by its name get it, too.
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]: () => {
      for (const [at, [owner, name]] of replaced.entries()) {
        const descriptor = before[at];
        if (descriptor === undefined) Reflect.deleteProperty(owner, name);
        else Object.defineProperty(owner, name, descriptor);
      }
      syncBuiltinESMExports();
    },
  };
}

function hrtimeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
