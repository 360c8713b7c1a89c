import type { CapabilityCall, CapabilityResponse } from "./capability-call.ts";
import type { ToolScript } from "./script.ts";

export type { Failure } from "../errors.ts";

/**
 * Every message between the host and a worker thread. They cross as lines of text (see `wire.ts`), so that one
 * form serves a message port and a pipe, and so that nothing but strings ever crosses.
 * Fields called `payload`, `args` and `logs` hold JSON text, which is passed on without being parsed.
 */

/** Limits that a worker enforces for one call; the rest are the host's. */
export interface RunLimits {
  readonly cpuMs: number;
  readonly outputBytes: number;
  readonly logBytes: number;
  readonly capabilityCalls: number;
  readonly capabilityBytes: number;
}

/** When a call that is run again gets its responses: for each, how many capability calls come before it, and what the clock shows. */
export type ReplayPlan = readonly (readonly [asked: number, nowMs: number])[];

/**
 * Starts calls of one tool and tenant, with the same limits: those that end at once share a turn, one that goes on has
 * its own. Exactly one `ran`, `cut` or `lost` answers
 * it. Calls that are run again keep their numbers.
 */
export interface RunMessage extends RunLimits {
  readonly kind: "run";
  /** The first call's number, by which the answer names the whole. */
  readonly run: number;
  /** The numbers of the calls, split by commas: read only where a call says something before it ends. */
  readonly runs: string;
  readonly key: string;
  /** Isolates are never shared between tenants. */
  readonly tenant: string;
  /** Whether log lines are sent as they come as well as with the result, and how far the calls have come at all. */
  readonly stream: boolean;
  /** Whether the call shares no isolate with others: it has lost more than one through their fault. */
  readonly ownIsolate: boolean;
  /**
   * When a single call that is run again gets its responses: a `ReplayPlan` in JSON, or empty text.
   */
  readonly plan: string;
  /**
   * The calls as the guest takes them, `[run, id, nowMs, outputBytes, arguments, command?, seed?][]`. `nowMs` is the call's clock in
   * milliseconds since the epoch: the same again when the call is run again.
   */
  readonly calls: string;
}

/**
 * The turns in which calls started have ended. For each that it started, in order, its outcome: `+` and the output's JSON, `-`
 * and a `Failure`, or nothing where the call goes on and a `done` or `lost` will follow. Those left out were not
 * started.
 */
export interface RanMessage {
  readonly kind: "ran";
  readonly run: number;
  /** Of all those turns. */
  readonly cpuMs: number;
  readonly heapBytes: number;
  /** Each ends with a tab, which cannot occur in JSON. */
  readonly outcomes: string;
}

/** The response to a capability call. */
export interface SettleMessage extends Pick<CapabilityCall, "step">, Pick<CapabilityResponse, "nowMs"> {
  readonly kind: "settle";
  readonly run: number;
  readonly ok: boolean;
  /** The value as JSON, or a `Failure` where `ok` is false. */
  readonly payload: string;
}

export type ToWorker =
  | { readonly kind: "load"; readonly script: ToolScript }
  | { readonly kind: "unload"; readonly key: string }
  | RunMessage
  | SettleMessage
  | { readonly kind: "cancel"; readonly run: number }
  | { readonly kind: "inspect"; readonly run: number; readonly cpuMs: number; readonly script: ToolScript };

/** A call has ended that went on after its first turn, or that has more to tell than its outcome. */
export interface DoneMessage {
  readonly kind: "done";
  readonly run: number;
  readonly ok: boolean;
  readonly cpuMs: number;
  readonly heapBytes: number;
  /** Log lines that did not fit into the budget. */
  readonly dropped: number;
  /** How many answers it had heard. */
  readonly heard: number;
  /** `[level, message][]`, or empty text where nothing was logged. */
  readonly logs: string;
  /** The output, or a `Failure` where `ok` is false. */
  readonly payload: string;
}

/** A capability call. Its `attempt` is the host's to know. */
export interface CapabilityCallMessage extends Required<Omit<CapabilityCall, "attempt">> {
  readonly kind: "ask";
  readonly run: number;
}

/** A line that a call has written, where its caller wants them as they come. */
export interface LogMessage {
  readonly kind: "log";
  readonly run: number;
  /** `[level, message]` as JSON. */
  readonly payload: string;
}

/** How far a call has come, where its caller wants to know. */
export interface ProgressMessage {
  readonly kind: "progress";
  readonly run: number;
  /** `[progress, total, message]` as JSON; `null` for what is missing. */
  readonly payload: string;
}

/** How many isolates a worker holds, and how it came to them. */
export interface WorkerStats {
  readonly active: number;
  readonly warm: number;
  readonly blank: number;
  /** Since the worker started, by kind: `blank`, `tool`, `context`. */
  readonly starts: { readonly [kind: string]: number };
  /** Heap of the isolates by tool, in bytes. */
  readonly heapBytes: { readonly [tool: string]: number };
}

/**
 * An answer reached a call after a timer that was due later than it came: by the call's clock it came then. A call that
 * is run again has to hear it then as well.
 */
export interface TimedMessage extends Pick<CapabilityCall, "step" | "nowMs"> {
  readonly kind: "timed";
  readonly run: number;
}

export type ToHost =
  | RanMessage
  | DoneMessage
  /** A turn with several calls was ended at a limit. That proves nothing against any of them: each may run alone. */
  | { readonly kind: "cut"; readonly run: number }
  /** The call's isolate died through another call's fault: it may be run again. */
  | { readonly kind: "lost"; readonly run: number; readonly payload: string }
  | CapabilityCallMessage
  | TimedMessage
  | LogMessage
  | ProgressMessage
  | { readonly kind: "inspected"; readonly run: number; readonly payload: string }
  | { readonly kind: "stats"; readonly payload: string };
