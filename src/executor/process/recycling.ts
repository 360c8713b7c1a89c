import type { Recycling, RecycleReason } from "../executor.ts";

/** What a process has behind it. */
export interface Service {
  readonly ageMs: number;
  readonly calls: number;
  readonly rssBytes: number;
  /** What its isolates are known to hold, and may be expected to need besides. */
  readonly knownBytes: number;
}

/** A process is not replaced for its memory before that: a load that needs as much would have it replaced all the time. */
const HEAP_AGE_MIN_MS = 60_000;
/** Memory that no isolate accounts for, in MiB, and for how long a young process may have it: what native code keeps. */
const LOST_MB = 256;
const LOST_AGE_MIN_MS = 5_000;
const MIB = 1024 * 1024;

/** The first reason there is for a process to make room, or `null`. */
export function recycleReason(recycling: Recycling, service: Service): RecycleReason | null {
  const { ageMs, calls, rssBytes, knownBytes } = service;
  if (ageMs >= recycling.ageMs) return "age";
  if (calls >= recycling.calls) return "calls";
  if (ageMs >= HEAP_AGE_MIN_MS && rssBytes >= recycling.rssMb * MIB) return "heap";
  return ageMs >= LOST_AGE_MIN_MS && rssBytes - knownBytes >= LOST_MB * MIB ? "heap" : null;
}
