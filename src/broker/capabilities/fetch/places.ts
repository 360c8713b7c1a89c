/** How many may be somewhere at once, and how long the others wait for their turn. */
export interface PlaceOptions {
  readonly max: number;
  /** `null`: for as long as it takes. */
  readonly waitMs: number | null;
  /** Why whoever waited in vain does not get in. */
  readonly late: () => Error;
}

/** Gives its place back; more than once does nothing. */
export type Leave = () => void;

/** A number of places. Whoever waits longest gets the one that is left. */
export class Places {
  readonly #options: PlaceOptions;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(options: PlaceOptions) {
    this.#options = options;
  }

  /** Rejects when it took too long, or with the signal's reason: who has left waits for nothing. */
  async enter(signal: AbortSignal): Promise<Leave> {
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
