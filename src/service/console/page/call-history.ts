import type { Outcome } from "./result-card.ts";
import type { Json } from "./wire.ts";

/** A call that this page has made. */
export interface PastCall extends Outcome {
  readonly tool: string;
  readonly arguments: Json;
  readonly time: Date;
}

const CALLS_MAX = 100;

let calls: readonly PastCall[] = [];

/** Keeps a call until the page is closed, in place of the oldest where there are many. */
export function rememberCall(call: PastCall): void {
  calls = [call, ...calls].slice(0, CALLS_MAX);
}

/** The calls of one tool, the last one first. */
export function callsOf(tool: string): readonly PastCall[] {
  return calls.filter((call) => call.tool === tool);
}
