import { within } from "../../kernel/base/deadline.ts";

/**
 * Maximum number of open jobs, as a multiple of the slots: jobs whose calls all wait for their servers need no slot.
 */
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

  /** A job enters, and is busy. */
  enter(): void {
    this.#open++;
    this.#busy++;
  }

  leave(isBusy: boolean): void {
    this.#open--;
    if (isBusy) this.#busy--;
    this.wake();
  }

  /** A job starts or stops waiting for its server. */
  change(isBusy: boolean): void {
    this.#busy += isBusy ? 1 : -1;
    if (!isBusy) this.wake();
  }

  /** Whether a slot is free, but the number of open jobs is so large that only jobs awaited by open ones may enter. */
  get isCrowded(): boolean {
    return this.#busy < this.size && !this.hasRoom;
  }

  /** Resolves when there is or may be room, after `ms`, or on `wake`. */
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
