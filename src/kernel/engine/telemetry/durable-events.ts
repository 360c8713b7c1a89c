import type { CallWait, Decision, RunWait } from "../../store/calls/durable/durable-call.ts";
import type { UndoneEffect } from "../durable/durable-calls.ts";
import type { NoteEvent } from "../../store/calls/durable/durable-step.ts";

/** A call that is kept while it waits. */
export interface DurableEvent {
  /** Id by which it is kept. */
  readonly id: string;
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
}

export interface PauseEvent extends DurableEvent {
  /** Number of its runs so far. */
  readonly legs: number;
  /** Kinds of its waits. */
  readonly waits: readonly CallWait["kind"][];
}

export interface ResumeEvent extends DurableEvent {
  /** Number of its runs so far. */
  readonly legs: number;
  /** `resumed`, or the code of the error with which it has ended. */
  readonly outcome: string;
  /** Time for which it was ready to continue. */
  readonly readyForMs: number;
}

export interface SettleEvent extends DurableEvent {
  /** The wait of the call, and its outcome. */
  readonly wait: CallWait["kind"];
  readonly state: CallWait["state"];
  /** Duration of the wait. */
  readonly waitedMs: number;
}

export interface UndoneEvent extends DurableEvent {
  /** Outcome of each effect, in the order of undoing. */
  readonly outcomes: readonly UndoneEffect["outcome"][];
}

export interface DoubtEvent extends DurableEvent {
  /** Capability and method of each effect, as `fetch.request`. */
  readonly asked: readonly string[];
}

export interface DecideEvent extends CancelEvent {
  /** Step of the wait that was decided. */
  readonly step: number;
  readonly decision: Decision["decision"];
  /** Name of the decider, from the deciding application. */
  readonly actor: string | null;
  /** Digest of the content that an approval showed; `null` for an effect. */
  readonly digest: string | null;
  /** Whether the arguments to run differ from the shown ones. */
  readonly isEdited: boolean;
}

/** `null` for a wait that is open, or void. */
export function settleEvent(call: DurableEvent, { kind, state, openedAt, settled }: RunWait): SettleEvent | null {
  if (settled === null || state === "void") return null;
  const { id, callId, tool, tenant } = call;
  const waitedMs = Math.max(0, Date.parse(settled.at) - Date.parse(openedAt));
  return { id, callId, tool, tenant, wait: kind, state, waitedMs };
}

export interface SignalEvent extends CancelEvent {
  readonly name: string;
}

export interface CancelEvent extends DurableEvent {
  /** Name of the acting key; `null` without keys. */
  readonly key: string | null;
}

export interface SnippetEvent {
  readonly name: string;
  readonly tenant: string;
  /** Name of the acting key; `null` without keys. */
  readonly key: string | null;
}

export interface SnippetSaveEvent extends SnippetEvent {
  readonly version: string;
}

export interface NotifyEvent extends Partial<DurableEvent> {
  /** `failed`: it is retried. `given_up`: after 24 hours. `dropped`: too many waited, and the oldest were dropped. */
  readonly outcome: (typeof NOTIFY_OUTCOMES)[number];
  /** Number of notifications. All other members are absent if they were dropped. */
  readonly count: number;
  /** Host of the target. */
  readonly target?: string;
  readonly event?: NoteEvent;
  /** The `webhook-id`. */
  readonly note?: string;
  readonly tries?: number;
  /** The reason for the failure. */
  readonly reason?: string;
}

/** Outcomes of a notification. */
export const NOTIFY_OUTCOMES = ["delivered", "failed", "given_up", "dropped"] as const;
