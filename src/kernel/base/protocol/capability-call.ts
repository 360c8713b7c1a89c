import type { Failure } from "../errors.ts";

/** A request of a tool to the host. */
export interface CapabilityCall {
  /** Number of the capability call within its call, from 1; the same in every attempt. */
  readonly step: number;
  /** Attempt number of the call, from 1. */
  readonly attempt: number;
  /** The call's clock at the request. It lags behind the host's clock; response times use the same clock. */
  readonly nowMs: number;
  /** Number of responses delivered to this attempt before the request, if known: others were still in transit. */
  readonly deliveredCount?: number;
  readonly capability: string;
  readonly method: string;
  /** JSON text. */
  readonly args: string;
  /** The end of the requested child call, if the worker itself has run it, and has answered. */
  readonly reply?: ChildReply | undefined;
}

/** The end of a child call that ran in the worker of its parent: it was a success. */
export interface ChildReply {
  readonly callId: string;
  /** JSON text. */
  readonly output: string;
  /** Its start in milliseconds since the epoch, and its time from there to its end. */
  readonly startMs: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly heapBytes: number;
  /** `[level, message][]` as JSON, or empty text; and the number of lines that did not fit. */
  readonly logs: string;
  readonly dropped: number;
  /** The parent's clock when it got the answer. */
  readonly answeredMs: number;
}

/** The answer of a child call to its parent. */
export function childAnswer({ output }: Pick<ChildReply, "output">): string {
  return `{"ok":true,"output":${output}}`;
}

/** The response to a capability call. `nowMs`: the call's clock at its arrival. */
export type CapabilityResponse =
  | { readonly kind: "value"; readonly nowMs: number; readonly json: string }
  | { readonly kind: "failure"; readonly nowMs: number; readonly failure: Failure };

/** Beginning of the message of a call whose replay diverged. */
export const DIVERGED = "replay diverged: ";

/** The end of a call whose replay diverged: it made another capability call than in its first run. */
export interface Diverged {
  readonly kind: "diverged";
  readonly message: string;
}

/** Receives the response to a capability call, once: responses to a call come in the order of its journal. */
export type Respond = (response: CapabilityResponse | Diverged) => void;

/** Methods that continue a request or a WebSocket. */
const OF_FETCH: ReadonlySet<string> = new Set(["read", "cancel", "send", "receive", "close"]);

/**
 * Whether a capability call only continues an earlier one: the next chunk of a body, a message, the next progress of a
 * handler. Continuations count towards bytes and time, but not towards the number of capability calls.
 */
export function isContinuation(capability: string, method: string): boolean {
  if (capability === "fetch") return OF_FETCH.has(method);
  return method.endsWith("$next") || method.endsWith("$end");
}

/** Maximum number of continuations of one call. */
export const CONTINUATIONS_MAX = 100_000;
