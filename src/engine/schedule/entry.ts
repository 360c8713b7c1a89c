import type { Refusal } from "./refusal.ts";

/** A place among the calls that run. */
export interface Slot {
  /** Gives it back: once, the rest is ignored. */
  release(): void;
}

/** What is scheduled: started or refused, one of the two, once. Neither may throw. */
export interface QueueEntry {
  /** Has the slot until it releases it. */
  start(slot: Slot, queueMs: number): void;
  refuse(refusal: Refusal): void;
}
