/** What both hand-made sandboxes have in each of their threads. */
import { queryObjects } from "node:v8";
import ivm from "isolated-vm";

const MEMORY_MB = 64;

export const isolate = new ivm.Isolate({ memoryLimit: MEMORY_MB });

/** Nobody who writes a sandbox would leave it out. */
export const TIMEOUT_MS = 1_000;

/** Gives up the isolate, so that the thread can end: see `END`. */
export function end(): void {
  isolate.dispose();
  queryObjects(Date, { format: "count" });
}
