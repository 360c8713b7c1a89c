import { within } from "../../base/deadline.ts";

/** Jobs whose calls all wait for their servers need no slot; with them a machine has no more jobs than this many times its slots. */
const OPEN_FACTOR = 16;

/** The jobs that a machine runs at once. */
export class Slots {
  readonly size: number;
  #busy = 0;
  #open = 0;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    this.size = size;
  }

  get busy(): number {
    return this.#busy;
  }

  get open(): number {
    return this.#open;
  }

  get hasRoom(): boolean {
    return this.#busy < this.size && this.#open < this.size * OPEN_FACTOR;
  }

  /** A job has come, which is busy. */
  enter(): void {
    this.#open++;
    this.#busy++;
  }

  leave(isBusy: boolean): void {
    this.#open--;
    if (isBusy) this.#busy--;
    this.wake();
  }

  /** A job waits for its server now, or no longer. */
  change(isBusy: boolean): void {
    this.#busy += isBusy ? 1 : -1;
    if (!isBusy) this.wake();
  }

  /** Whether another job could run now, but so many are open that only those are taken which open ones wait for. */
  get isCrowded(): boolean {
    return this.#busy < this.size && !this.hasRoom;
  }

  /** Resolves when there is room or there may be, after `ms`, or when somebody calls `wake`. */
  async room(ms: number): Promise<void> {
    if (this.hasRoom) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    await within(ms, promise);
    this.#waiting.delete(resolve);
  }

  wake(): void {
    for (const resolve of this.#waiting) resolve();
  }
}
