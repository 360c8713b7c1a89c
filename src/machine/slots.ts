/** Jobs whose calls all wait for their servers need no slot; with them a machine has no more jobs than this many times its slots. */
const OPEN_FACTOR = 16;

/** How much a machine runs at once. */
export class Slots {
  readonly size: number;
  #busy = 0;
  #open = 0;
  /** There is a puller for each version of the protocol. */
  readonly #waiting: (() => void)[] = [];

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

  /** Resolves when there may be room: whoever waited with others has to look again. */
  async room(): Promise<void> {
    if (this.hasRoom) return;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
