/** Number of slots, and the maximum wait for one. */
export interface SlotOptions {
  readonly max: number;
  /** `null`: no limit. */
  readonly waitMs: number | null;
  /** Makes the error for a wait that took too long. */
  readonly late: () => Error;
}

/** Releases a slot; a second call does nothing. */
export type ReleaseSlot = () => void;

/** A bounded number of slots. The caller that waits longest gets the next free one. */
export class WaitingSlots {
  readonly #options: SlotOptions;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** Takes a slot. Rejects when the wait takes too long, or with the signal's reason. */
  async enter(signal: AbortSignal): Promise<ReleaseSlot> {
    signal.throwIfAborted();
    if (this.#taken < this.#options.max) this.#taken++;
    else await this.#turn(signal);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      this.#leave();
    };
  }

  #turn(signal: AbortSignal): Promise<void> {
    const { waitMs, late } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = () => {
      this.#waiting.delete(enter);
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    const enter = () => {
      end();
      resolve();
    };
    const onAbort = () => {
      end();
      reject(signal.reason as Error);
    };
    const onLate = () => {
      end();
      reject(late());
    };
    const timer = waitMs === null ? undefined : setTimeout(onLate, waitMs);
    signal.addEventListener("abort", onAbort);
    this.#waiting.add(enter);
    return promise;
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken--;
    else next();
  }
}
