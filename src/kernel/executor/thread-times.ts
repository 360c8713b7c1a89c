import { closeSync, openSync, readFileSync, readSync } from "node:fs";

const LINE_BYTES = 64;
const NS_PER_MS = 1e6;
/** Highest ratio of elapsed time to processor time that is assumed if threads cannot be measured. */
const RATIO_MAX = 10;
/** Time over which that ratio is averaged, in milliseconds. */
const AVERAGE_MS = 1_000;

/** The number that the system gave to this thread; 0 if it is unknown. */
export function systemThreadId(): number {
  try {
    return Number(readFileSync("/proc/thread-self/stat", "latin1").split(" ")[0]) || 0;
  } catch {
    return 0;
  }
}

/** Whether the system of this machine reports the processor time of each thread. */
export function canMeasureThreads(): boolean {
  try {
    return readFileSync("/proc/thread-self/schedstat", "latin1").split(" ").length >= 3;
  } catch {
    return false;
  }
}

/** Source of times in milliseconds: of a thread, `null` if the system does not report it, and of the whole process. */
export interface TimeSource extends Disposable {
  threadMs(thread: number): number | null;
  processMs(): number;
}

/**
 * Processor time of the process's workers, read from another thread. Linux has a file for each thread. Elsewhere it is
 * estimated from the process's time: all workers in a turn have had the same share over the last second.
 */
export class ThreadTimes implements Disposable {
  readonly #source: TimeSource;
  readonly #estimatedMs = new Map<number, number>();
  #lastMs: number | null = null;
  #lastProcessMs = 0;
  /** Elapsed time of all turns and time of the process, in about the last second. */
  #elapsedMs = 0;
  #spentMs = 0;

  constructor(source: TimeSource = new SystemTimes()) {
    this.#source = source;
  }

  /** Must be called at regular intervals. `busy`: the workers in a turn. */
  look(nowMs: number, busy: readonly number[]): void {
    const processMs = this.#source.processMs();
    const passedMs = this.#lastMs === null ? 0 : nowMs - this.#lastMs;
    const spentMs = processMs - this.#lastProcessMs;
    this.#lastMs = nowMs;
    this.#lastProcessMs = processMs;
    if (busy.length === 0 || passedMs <= 0) return;
    const kept = Math.max(0, 1 - passedMs / AVERAGE_MS);
    this.#elapsedMs = this.#elapsedMs * kept + passedMs * busy.length;
    this.#spentMs = this.#spentMs * kept + spentMs;
    const ratio = Math.min(RATIO_MAX, Math.max(1, this.#elapsedMs / Math.max(this.#spentMs, 1e-3)));
    for (const worker of busy) {
      this.#estimatedMs.set(worker, (this.#estimatedMs.get(worker) ?? 0) + passedMs / ratio);
    }
  }

  /** Processor time of a worker, in milliseconds, from a start that only its own later readings share. */
  readMs(worker: number, thread: number): number {
    const measured = thread === 0 ? null : this.#source.threadMs(thread);
    return measured ?? this.#estimatedMs.get(worker) ?? 0;
  }

  [Symbol.dispose](): void {
    this.#source[Symbol.dispose]();
  }
}

/** The scheduler's own numbers, which grow with the kernel's tick: every few milliseconds. */
class SystemTimes implements TimeSource {
  /** Open files by thread. */
  readonly #files = new Map<number, number>();
  readonly #line = Buffer.alloc(LINE_BYTES);

  threadMs(thread: number): number | null {
    try {
      let file = this.#files.get(thread);
      if (file === undefined) this.#files.set(thread, (file = openSync(`/proc/self/task/${thread}/schedstat`, "r")));
      const length = readSync(file, this.#line, 0, LINE_BYTES, 0);
      return Number(this.#line.toString("latin1", 0, length).split(" ")[0]) / NS_PER_MS;
    } catch {
      this.#close(thread);
      return null;
    }
  }

  processMs(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e3;
  }

  #close(thread: number): void {
    const file = this.#files.get(thread);
    this.#files.delete(thread);
    if (file !== undefined) closeSync(file);
  }

  [Symbol.dispose](): void {
    for (const thread of this.#files.keys()) this.#close(thread);
  }
}
