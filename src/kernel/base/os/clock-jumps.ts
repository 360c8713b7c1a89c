/**
 * Jumps of the system's clock: what is kept until a time of it, such as an idempotency key, then ends early or late. A
 * program that owns its process watches it, as `glovebox serve` does.
 */
export interface ClockJump {
  /** By how much it is ahead of where it should be, in milliseconds; negative for a clock that went back. */
  readonly aheadMs: number;
}

const LOOK_EVERY_MS = 2_000;
/** Synchronisation moves a clock by less between two looks. */
const LEAST_MS = 1_000;

const listeners = new Set<(jump: ClockJump) => void>();
let timer: NodeJS.Timeout | null = null;

/** Calls back at each jump. */
export function onClockJump(listener: (jump: ClockJump) => void): Disposable {
  listeners.add(listener);
  return { [Symbol.dispose]: () => void listeners.delete(listener) };
}

/** Watches the clock from now on, with one timer, which does not keep the process alive. */
export function watchClock(): Disposable {
  if (timer !== null) clearInterval(timer);
  let offsetMs = offset();
  timer = setInterval(() => {
    const aheadMs = Math.round(offset() - offsetMs);
    offsetMs += aheadMs;
    if (Math.abs(aheadMs) >= LEAST_MS) for (const listener of listeners) listener({ aheadMs });
  }, LOOK_EVERY_MS).unref();
  return { [Symbol.dispose]: unwatch };
}

function unwatch(): void {
  if (timer !== null) clearInterval(timer);
  timer = null;
}

/** From the monotonic clock to the system's. */
const offset = (): number => Date.now() - performance.now();
