import type { CallOptions } from "../../../../src/glovebox/index.ts";
import type { OpenCalls } from "../../../../src/kernel/store/calls/thread/call-backend.ts";
import { openPlace } from "../../../kernel/engine/programs/placed-calls.ts";

/** Where calls are, and the memory that says whether its process is at work: 1. */
export interface GatedPlace extends CallOptions {
  readonly gate: SharedArrayBuffer;
}

const LOOK_MS = 20;

/** The store of calls of a place, in which a process finds nothing to do until it is at work. */
export const open: OpenCalls = (own, room) => {
  const { gate, ...place } = own as GatedPlace;
  const cells = new Int32Array(gate);
  return openPlace(place, room, (take) => async (step) => {
    if (step.kind !== "due" || Atomics.load(cells, 0) === 1) return take(step);
    return { kind: "ready", ids: [], wakeMs: Date.now() + LOOK_MS, lost: [] };
  });
};
