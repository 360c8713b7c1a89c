import type { Waiting } from "./flows.ts";

const BUCKETS = 1_024;

/**
 * The deadlines of all waiting calls, in a ring of buckets of one tick each: adding and removing take the same time
 * however many calls wait, and a sweep only looks at the buckets that came due. A call whose deadline is further away
 * than the ring is long is looked at once per turn of the ring.
 */
export class DeadlineWheel {
  readonly #buckets: (Waiting | undefined)[] = Array.from({ length: BUCKETS }, () => undefined);
  readonly #tickMs: number;
  #tick: number;

  constructor(tickMs: number, nowMs: number) {
    this.#tickMs = tickMs;
    this.#tick = Math.floor(nowMs / tickMs);
  }

  add(call: Waiting): void {
    // A bucket is looked at when its tick has begun, so a deadline belongs to the first tick that begins after it.
    const tick = Math.max(this.#tick + 1, Math.ceil(call.deadlineMs / this.#tickMs));
    // A deadline that is infinite has no tick; any bucket does, because only the deadline itself decides.
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

  /** Removes the calls whose deadline has passed, and hands them over. */
  expire(nowMs: number): Waiting[] {
    const expired: Waiting[] = [];
    const until = Math.floor(nowMs / this.#tickMs);
    // After a long pause every bucket is due, but none of them twice.
    for (let tick = Math.max(this.#tick + 1, until - BUCKETS + 1); tick <= until; tick++) {
      for (let call = this.#buckets[tick % BUCKETS]; call !== undefined; call = call.later) {
        if (call.deadlineMs <= nowMs) expired.push(call);
      }
    }
    this.#tick = Math.max(this.#tick, until);
    for (const call of expired) this.remove(call);
    return expired;
  }

  /** Removes all calls, and hands them over. */
  clear(): Waiting[] {
    const all: Waiting[] = [];
    for (const first of this.#buckets) {
      for (let call = first; call !== undefined; call = call.later) all.push(call);
    }
    for (const call of all) this.remove(call);
    return all;
  }
}
