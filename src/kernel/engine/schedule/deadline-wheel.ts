import type { Waiting } from "./flows.ts";

const BUCKETS = 1_024;
const NO_CALLS: readonly undefined[] = Array.from<undefined>({ length: BUCKETS });

/**
 * Deadlines of waiting calls, in a ring of buckets of one tick each: adding and removing take constant time, and a
 * sweep visits only the buckets that are due. A call whose deadline is beyond the ring's length is visited once per
 * turn.
 */
export class DeadlineWheel {
  readonly #buckets: (Waiting | undefined)[] = NO_CALLS.slice();
  readonly #tickMs: number;
  #tick: number;

  constructor(tickMs: number, nowMs: number) {
    this.#tickMs = tickMs;
    this.#tick = Math.floor(nowMs / tickMs);
  }

  add(call: Waiting): void {
    // A bucket is visited when its tick has begun, so a deadline belongs to the first tick that begins after it.
    const tick = Math.max(this.#tick + 1, Math.ceil(call.deadlineMs / this.#tickMs));
    // An infinite deadline has no tick; any bucket will do, because only the deadline itself decides.
    const bucket = Number.isFinite(tick) ? tick % BUCKETS : 0;
    const first = this.#buckets[bucket];
    call.bucket = bucket;
    call.later = first;
    if (first !== undefined) first.earlier = call;
    this.#buckets[bucket] = call;
  }

  remove(call: Waiting): void {
    if (call.bucket < 0) return;
    if (call.earlier === undefined) this.#buckets[call.bucket] = call.later;
    else call.earlier.later = call.later;
    if (call.later !== undefined) call.later.earlier = call.earlier;
    call.bucket = -1;
    call.earlier = undefined;
    call.later = undefined;
  }

  /** Removes and returns the calls whose deadline has passed. */
  expire(nowMs: number): Waiting[] {
    const expired: Waiting[] = [];
    const until = Math.floor(nowMs / this.#tickMs);
    // After a long pause every bucket is due, but only once.
    for (let tick = Math.max(this.#tick + 1, until - BUCKETS + 1); tick <= until; tick++) {
      for (let call = this.#buckets[tick % BUCKETS]; call !== undefined; call = call.later) {
        if (call.deadlineMs <= nowMs) expired.push(call);
      }
    }
    this.#tick = Math.max(this.#tick, until);
    for (const call of expired) this.remove(call);
    return expired;
  }

  /** Removes and returns all calls. */
  clear(): Waiting[] {
    const all: Waiting[] = [];
    for (const first of this.#buckets) {
      for (let call = first; call !== undefined; call = call.later) all.push(call);
    }
    for (const call of all) this.remove(call);
    return all;
  }
}
