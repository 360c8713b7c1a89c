import type { CapabilityCall, CapabilityResponse } from "./capability-call.ts";
import type { ToolScript } from "./script.ts";

export type { Failure } from "../errors.ts";

/**
 * Messages between the host and a worker thread, sent as lines of text (see `wire.ts`): the same form is used for
 * message ports and pipes, and only strings cross. Fields called `payload`, `args` and `logs` hold JSON text that is
 * passed on without being parsed.
 */

/** Limits of one call that a worker enforces; the host enforces the rest. */
export interface RunLimits {
  readonly cpuMs: number;
  readonly outputBytes: number;
  readonly logBytes: number;
  readonly capabilityCalls: number;
  readonly capabilityBytes: number;
}

/**
 * Child calls that the worker of a call may run itself, as JSON in a message: a share of the call's allowance. Child
 * calls that do not end well at once are left to the host.
 */
export interface ChildTickets {
  /** The capability for these child calls, and the processor time of all of them. */
  readonly capability: string;
  readonly cpuMs: number;
  readonly tools: readonly ChildTicket[];
}

/** A tool, its script, and the limits of the child call. */
export interface ChildTicket extends Pick<RunLimits, "cpuMs" | "outputBytes" | "logBytes"> {
  readonly name: string;
  readonly key: string;
  readonly inputBytes: number;
}

/** Events that a call repeats when it runs again. Times are the call's clock, in milliseconds since the epoch. */
export interface ReplayPlan {
  /** Number of its capability calls; `null` for a recording, whose call repeats only the recorded ones. */
  readonly asked: number | null;
  /** For each response, the number of capability calls made before it. */
  readonly responses: readonly (readonly [asked: number, nowMs: number])[];
  /** For each timer that the clock did not wait for, the number of timers that had fired by then. */
  readonly late: readonly LateTimer[];
  /** The responses that shared a turn, in order; each other one has a turn of its own. */
  readonly together: readonly SharedTurn[];
}

/** The `fired`-th timer turn of a call began at this time instead of its due time. */
export type LateTimer = readonly [fired: number, nowMs: number];

/** From the response at this index on, this number of a call's responses was delivered in one turn. */
export type SharedTurn = readonly [at: number, count: number];

/** Adds a turn to those that a call's responses shared, unless no call with so many responses can have had it. */
export function addSharedTurn(turns: SharedTurn[], turn: SharedTurn, responseCount: number): void {
  const [at, count] = turn;
  const [lastAt, lastCount] = turns.at(-1) ?? [0, 0];
  if (!Number.isSafeInteger(at) || !Number.isSafeInteger(count)) return;
  if (at >= lastAt + lastCount && count > 1 && at + count <= responseCount) turns.push(turn);
}

/** More late timers than a call of the longest duration can have. Further ones are not kept. */
export const LATE_MAX = 10_000;

/** What calls of one tool and tenant mostly have in common. Both sides keep its last form, as it rarely changes. */
export interface RunTerms extends RunLimits {
  readonly key: string;
  /** Isolates are never shared between tenants. */
  readonly tenant: string;
  /** Whether log lines and progress are sent as they occur, in addition to the log lines in the result. */
  readonly stream: boolean;
  /** Whether its calls send capability calls to the host, although the worker may have a pipe to the broker. */
  readonly asksHost: boolean;
  /** Whether the ends of its calls report their turns. */
  readonly tellsTurns: boolean;
  /** Whether the call shares no isolate with others: it was lost more than once through the fault of others. */
  readonly ownIsolate: boolean;
}

/**
 * Starts calls of one tool and tenant with the same limits. Calls that end at once share a turn; a call that continues
 * gets a turn of its own. The reply is exactly one `ran`, `cut` or `lost`. Calls that are run again keep their numbers.
 */
export interface RunMessage {
  readonly kind: "run";
  /** The first call's number; identifies the whole message in the reply. */
  readonly callNumber: number;
  /** The numbers of the calls, separated by commas: parsed only if a call sends something before it ends. */
  readonly runs: string;
  readonly terms: RunTerms;
  /** Number of this start of its calls, part of all their messages except their ends. */
  readonly attempt: number;
  /** The `ReplayPlan` of a single call that is run again, as JSON; otherwise empty. */
  readonly plan: string;
  /** `ChildTickets` as JSON; empty if the host runs all child calls. */
  readonly tickets: string;
  /**
   * Number of the call on whose behalf its worker starts these calls itself: their turns count as turns of that call.
   */
  readonly parent?: number;
  /**
   * The calls in the guest's form, `[run, id, nowMs, outputBytes, arguments, command?, seed?][]`. `nowMs`: the call's
   * clock in milliseconds since the epoch, the same when the call is run again.
   */
  readonly calls: string;
  /** Whether the arguments of a call may have long integers. */
  readonly hasLongIntegers: boolean;
}

/**
 * The end of the turns in which calls started. For each started call, in order, its outcome: `+` and the output's JSON,
 * `-` and a `Failure`, or empty if the call continues and a `done` or `lost` will follow. Calls that are left out were
 * not started.
 */
export interface RanMessage {
  readonly kind: "ran";
  readonly callNumber: number;
  /** Of all these turns, and of the last call that started in them. */
  readonly cpuMs: number;
  readonly lastCpuMs: number;
  readonly heapBytes: number;
  /** Each ends with a tab, which cannot occur in JSON. */
  readonly outcomes: string;
  /** A long output of the only outcome, in parts: `outcomes` has none then. */
  readonly parts?: readonly string[];
}

/** CPU time of one of `count` calls that started in a message's turns: only that of the last one was measured apart. */
export function cpuMsOf(
  { cpuMs, lastCpuMs }: Pick<RanMessage, "cpuMs" | "lastCpuMs">,
  at: number,
  count: number,
): number {
  return at === count - 1 ? lastCpuMs : (cpuMs - lastCpuMs) / (count - 1);
}

/**
 * The response to a capability call. After a restart of a call on the same worker, it may arrive before the answer to
 * its earlier attempt, on another pipe.
 */
export interface SettleMessage extends Pick<CapabilityCall, "step" | "attempt">, Pick<CapabilityResponse, "nowMs"> {
  readonly kind: "settle";
  readonly callNumber: number;
  readonly ok: boolean;
  /** The value as JSON, or a `Failure` if `ok` is false. */
  readonly payload: string;
}

/** The broker's response as a message to a worker. */
export function settleMessage(
  { callNumber, attempt, step }: Pick<CapabilityCallMessage, "callNumber" | "attempt" | "step">,
  response: CapabilityResponse,
): SettleMessage {
  const { kind, nowMs } = response;
  const payload = kind === "value" ? response.json : JSON.stringify(response.failure);
  return { kind: "settle", callNumber, attempt, step, ok: kind === "value", nowMs, payload };
}

export type ToWorker =
  | { readonly kind: "load"; readonly script: ToolScript }
  | { readonly kind: "unload"; readonly key: string }
  | RunMessage
  | SettleMessage
  | { readonly kind: "cancel"; readonly callNumber: number }
  /** The worker reports from now on when the call only waits. */
  | { readonly kind: "watch"; readonly callNumber: number }
  | { readonly kind: "inspect"; readonly callNumber: number; readonly cpuMs: number; readonly script: ToolScript };

/** The call's isolate died, not through its fault alone: the call may run again. */
export interface LostMessage {
  readonly kind: "lost";
  readonly callNumber: number;
  /** Processor time that the call is charged for the lost start: 0 if another call was at fault. */
  readonly cpuMs: number;
  /** The reason, as JSON. */
  readonly payload: string;
}

/** The end of a call that continued after its first turn, or that has more to report than its outcome. */
export interface DoneMessage {
  readonly kind: "done";
  readonly callNumber: number;
  readonly ok: boolean;
  readonly cpuMs: number;
  readonly heapBytes: number;
  /** Number of log lines that did not fit into the budget. */
  readonly dropped: number;
  /** Number of responses delivered to the call. */
  readonly deliveredCount: number;
  /** Whether the call has sent the broker anything: an `end` then follows there. */
  readonly asked: boolean;
  /**
   * Its turns, if they are reported: begin, in milliseconds since the epoch, and processor time, as `1.5 0.2,7 0.1`; at
   * most 200, later ones are part of the last.
   */
  readonly turns: string;
  /** `[level, message][]`; empty if nothing was logged. */
  readonly logs: string;
  /** The output, or a `Failure` if `ok` is false. */
  readonly payload: string;
  /** A long output in parts: `payload` is empty then. */
  readonly parts?: readonly string[];
}

/** A capability call. */
export interface CapabilityCallMessage extends Required<Omit<CapabilityCall, "reply">>, Pick<CapabilityCall, "reply"> {
  readonly kind: "ask";
  readonly callNumber: number;
}

/** More log lines than a worker sends in one message. */
export const LINES_PER_MESSAGE_MAX = 64;

/** Log lines, sent soon after they were written if the caller subscribed to them. */
export interface LogMessage {
  readonly kind: "log";
  readonly callNumber: number;
  /** Each is `[level, message]` as JSON. There is at least one. */
  readonly lines: readonly string[];
}

/** Progress of a call, sent if the caller subscribed to it. */
export interface ProgressMessage {
  readonly kind: "progress";
  readonly callNumber: number;
  /** `[progress, total, message]` as JSON; `null` for missing values. */
  readonly payload: string;
}

/** Numbers of a worker's isolates and of their starts. */
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
 * A response reached a call after a timer that was due later: this is the time of its arrival by the call's clock,
 * which a replay has to repeat.
 */
export interface TimedMessage extends Pick<CapabilityCall, "attempt" | "step" | "nowMs"> {
  readonly kind: "timed";
  readonly callNumber: number;
}

/** A timer fired so late that the call's clock followed real time, which a replay has to repeat. */
export interface LateMessage {
  readonly kind: "late";
  readonly callNumber: number;
  readonly attempt: number;
  /** Number of the call's timer turns, with this one. */
  readonly fired: number;
  readonly nowMs: number;
}

/** Responses reached the call in one turn, which a replay has to repeat: the continuations of all follow the last one. */
export interface TogetherMessage {
  readonly kind: "together";
  readonly callNumber: number;
  readonly attempt: number;
  /** Number of responses delivered before them. */
  readonly at: number;
  readonly count: number;
}

/** A call that has made capability calls has ended: to the broker alone. */
export interface EndMessage {
  readonly kind: "end";
  readonly callNumber: number;
  readonly attempt: number;
  readonly deliveredCount: number;
}

/** Messages of a call to the broker: by its worker's pipe to the broker, or else by the pipe to the engine. */
export type ToBroker = CapabilityCallMessage | TimedMessage | LateMessage | TogetherMessage | EndMessage;

/** A watched call waits only for its capability calls or its timer. */
export interface IdleMessage {
  readonly kind: "idle";
  readonly callNumber: number;
  readonly attempt: number;
  /** Numbers of its capability calls, and of responses delivered to it. */
  readonly asked: number;
  readonly delivered: number;
  /** Time until its timer is due, in milliseconds; -1 without one. */
  readonly dueInMs: number;
  /** Processor time of the run so far, in milliseconds. */
  readonly usedMs: number;
}

/** A turn of several calls was ended at a limit. The call at fault is unknown: each may run alone. */
export interface CutMessage {
  readonly kind: "cut";
  readonly callNumber: number;
  /** Of all these turns. */
  readonly cpuMs: number;
}

export type ToHost =
  | RanMessage
  | DoneMessage
  | CutMessage
  | LostMessage
  | ToBroker
  | LogMessage
  | ProgressMessage
  | IdleMessage
  | { readonly kind: "inspected"; readonly callNumber: number; readonly payload: string }
  | { readonly kind: "stats"; readonly payload: string };
