import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";

/** When calls come in that do not wait for one another: times since the start, in ascending order. */
export interface Arrivals {
  readonly atMs: Float64Array;
  readonly windowMs: number;
}

/** What became of arrivals. */
export interface Offered {
  /** Calls sent; fewer than arrived where the window closed while too many were open. All of them were answered. */
  readonly sent: number;
  /** From the start to the last call that was sent. */
  readonly sendingMs: number;
  /** From the start to the last answer. */
  readonly elapsedMs: number;
}

/** More calls than this are never open: whoever cannot keep up must end some time after the window closes. */
export const OPEN_MAX = 4_096;
/** Calls that go out in one turn of the event loop, so that answers are heard in between, however far behind it is. */
const SLICE_MAX = 16;

/** Arrivals at random, as many strangers make them: the same ones whenever rate and window are the same. */
export function poissonArrivals(perSecond: number, windowMs: number): Arrivals {
  const random = randomFrom(perSecond);
  const atMs: number[] = [];
  const meanMs = 1e3 / perSecond;
  for (let ms = -Math.log1p(-random()) * meanMs; ms < windowMs; ms -= Math.log1p(-random()) * meanMs) atMs.push(ms);
  return { atMs: Float64Array.from(atMs), windowMs };
}

/** What the sending thread does while nothing is due. A sleeping one leaves its processor to others. */
export type Rest = "spin" | "sleep";

/**
 * Sends calls as they are due, no matter how many are open; beyond `OPEN_MAX` they are late, and those that are still
 * late when the window closes are not sent any more. Where the time of single calls is counted from when they were
 * due, this thread has to spin: a timer is a millisecond late, which is longer than a call takes.
 */
export async function offer(
  { atMs, windowMs }: Arrivals,
  rest: Rest,
  send: (nth: number, dueMs: number) => Promise<void>,
): Promise<Offered> {
  const startMs = performance.now();
  const failures: unknown[] = [];
  let sent = 0;
  let open = 0;
  const onAnswer = () => {
    open--;
  };
  const onFailure = (error: unknown) => {
    open--;
    failures.push(error);
  };
  const passedMs = () => performance.now() - startMs;
  for (let nowMs = 0; sent < atMs.length && nowMs < windowMs && failures.length === 0; nowMs = passedMs()) {
    for (let slice = 0; slice < SLICE_MAX && open < OPEN_MAX; slice++) {
      const dueMs = atMs[sent];
      if (dueMs === undefined || dueMs > nowMs) break;
      open++;
      send(sent++, startMs + dueMs).then(onAnswer, onFailure);
    }
    const isDue = open < OPEN_MAX && (atMs[sent] ?? windowMs) <= passedMs();
    await (isDue || rest === "spin" ? nextTurn() : delay(1));
  }
  const sendingMs = passedMs();
  while (open > 0) await (rest === "spin" ? nextTurn() : delay(1));
  if (failures.length > 0) throw failures[0];
  return { sent, sendingMs, elapsedMs: passedMs() };
}

/** Mulberry32: numbers from 0 to below 1 that look random and follow from the seed. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
