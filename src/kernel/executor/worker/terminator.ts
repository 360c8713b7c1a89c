import ivm from "isolated-vm";
import { CELL, type Cells, LAST_BEAT } from "../../base/protocol/turn-record.ts";

const HEAP_MB = 8;
/** Duration of one wait for the bell, in milliseconds. */
const WAIT_MS = 100;
/** The same after the last beat, while all turns are ended; the number of these waits, and of those without a turn. */
const LAST_WAIT_MS = 5;
const LAST_WAITS_MAX = 400;
const LAST_IDLE_MAX = 20;
/**
 * Number of waits without a beat of the watch after which the terminator gives up its thread: one that waits for ever
 * would keep the process from ending. A watch on a busy thread may be late by seconds.
 */
const SILENT_WAITS_MAX = 50;
/** Number of ended isolates that are remembered. */
const ENDED_MAX = 64;

/**
 * The program of the terminator's own isolate. `watch` occupies a thread of isolated-vm's pool. It returns if another
 * thread wants to enter, if a later `watch` exists, and if the beat stops.
 */
const PROGRAM = `(bytes, at, count) => {
  const cells = new Int32Array(bytes, at, count);
  const isolates = new Map();
  const ended = [];
  let latest = 0;
  let purgeAt = ${ENDED_MAX};
  const end = (turn) => {
    const number = cells[${CELL.isolate}];
    const isolate = isolates.get(number);
    // The number of the isolate belongs to the turn only if the turn still runs.
    if (isolate === undefined || Atomics.load(cells, ${CELL.turn}) !== turn) return;
    ended.push(number);
    if (ended.length > ${ENDED_MAX}) ended.shift();
    Atomics.store(cells, ${CELL.ended}, turn);
    try { isolate.dispose(); } catch {}
  };
  const endAll = (generation) => {
    let idle = 0;
    for (let wait = 0; wait < ${LAST_WAITS_MAX} && idle < ${LAST_IDLE_MAX} && generation === latest; wait++) {
      if (Atomics.load(cells, ${CELL.wanted}) > 0) return;
      const turn = Atomics.load(cells, ${CELL.turn});
      idle = turn === 0 ? idle + 1 : 0;
      if (turn !== 0) end(turn);
      Atomics.wait(cells, ${CELL.bell}, Atomics.load(cells, ${CELL.bell}), ${LAST_WAIT_MS});
    }
  };
  return {
    keep(number, isolate, generation) {
      latest = generation;
      if (isolates.size >= purgeAt) {
        for (const [known, { isDisposed }] of isolates) if (isDisposed) isolates.delete(known);
        purgeAt = 2 * isolates.size + ${ENDED_MAX};
      }
      isolates.set(number, isolate);
    },
    hasEnded(number, generation) {
      latest = generation;
      return ended.includes(number);
    },
    retire() {
      latest = Infinity;
    },
    watch(generation) {
      latest = Math.max(latest, generation);
      let beat = Atomics.load(cells, ${CELL.beat});
      let silentWaits = 0;
      while (generation === latest && silentWaits < ${SILENT_WAITS_MAX}) {
        const bell = Atomics.load(cells, ${CELL.bell});
        if (Atomics.load(cells, ${CELL.wanted}) > 0) return;
        const condemned = Atomics.exchange(cells, ${CELL.condemned}, 0);
        if (condemned !== 0) end(condemned);
        const shed = isolates.get(Atomics.exchange(cells, ${CELL.shed}, 0));
        try { shed?.dispose(); } catch {}
        if (Atomics.load(cells, ${CELL.beat}) === ${LAST_BEAT}) return endAll(generation);
        if (Atomics.wait(cells, ${CELL.bell}, bell, ${WAIT_MS}) !== "timed-out") continue;
        const latestBeat = Atomics.load(cells, ${CELL.beat});
        silentWaits = latestBeat === beat ? silentWaits + 1 : 0;
        beat = latestBeat;
      }
    },
  };
}`;

/** `generation`: number of the watch that will follow; earlier ones that have not begun are not needed. */
interface Program {
  keep(number: number, isolate: ivm.Isolate, generation: number): void;
  hasEnded(number: number, generation: number): boolean;
  retire(): void;
  watch(generation: number): void;
}

/**
 * Ends a turn of this thread from another one: V8's own timeout counts elapsed time, and this thread is inside the
 * turn. An isolate waits on a thread of isolated-vm's pool until the process's watch condemns a turn by its number, and
 * disposes of the isolate in which that turn runs.
 */
export class Terminator implements AsyncDisposable {
  readonly #cells: Cells;
  readonly #isolate: ivm.Isolate;
  readonly #keep: ivm.Reference<Program["keep"]>;
  readonly #hasEnded: ivm.Reference<Program["hasEnded"]>;
  readonly #retire: ivm.Reference<Program["retire"]>;
  readonly #watch: ivm.Reference<Program["watch"]>;
  #kept = 0;
  #generation = 0;
  #watching: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(cells: Cells) {
    this.#cells = cells;
    this.#isolate = new ivm.Isolate({ memoryLimit: HEAP_MB });
    const context = this.#isolate.createContextSync();
    const bytes = new ivm.ExternalCopy(cells.buffer).copyInto();
    const program = context.evalClosureSync(
      `return (${PROGRAM})($0, $1, $2)`,
      [bytes, cells.byteOffset, cells.length],
      {
        result: { reference: true },
      },
    ) as ivm.Reference<Program>;
    this.#keep = program.getSync("keep", { reference: true });
    this.#hasEnded = program.getSync("hasEnded", { reference: true });
    this.#retire = program.getSync("retire", { reference: true });
    this.#watch = program.getSync("watch", { reference: true });
    program.release();
    this.#begin();
  }

  /** Makes an isolate one that can be ended; returns its number in turn records. */
  keep(isolate: ivm.Isolate): number {
    const number = ++this.#kept;
    this.#enter((generation) => this.#keep.applySync(undefined, [number, isolate, generation]));
    return number;
  }

  /** Whether the terminator has ended that isolate: then its memory limit did not. */
  hasEnded(number: number): boolean {
    return this.#enter((generation) => this.#hasEnded.applySync(undefined, [number, generation]));
  }

  /** isolated-vm ends the process if an isolate is disposed of while a thread of its pool is about to enter it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#enter(() => this.#retire.applySync(undefined, []));
    await this.#watching;
    // The pool's thread settles that promise while it is in the isolate, and must not be the last to leave it: it would
    // dispose of it, perhaps after this thread has ended.
    this.#enter(() => this.#retire.applySync(undefined, []));
    this.#isolate.dispose();
  }

  /** Enters the terminator's isolate; its watch leaves the isolate meanwhile. */
  #enter<T>(body: (generation: number) => T): T {
    // A count, not a signal: a watch that begins only now must see it as well.
    Atomics.add(this.#cells, CELL.wanted, 1);
    Atomics.add(this.#cells, CELL.bell, 1);
    Atomics.notify(this.#cells, CELL.bell);
    try {
      return body(this.#generation + 1);
    } finally {
      Atomics.sub(this.#cells, CELL.wanted, 1);
      this.#begin();
    }
  }

  #begin(): void {
    if (this.#isClosed) return;
    const generation = ++this.#generation;
    const again = () => {
      // The beat stopped and this thread still works: the watch may only have been late.
      if (generation === this.#generation && Atomics.load(this.#cells, CELL.beat) !== LAST_BEAT) this.#begin();
    };
    this.#watching = this.#watch.apply(undefined, [generation]).then(again, () => undefined);
  }
}
