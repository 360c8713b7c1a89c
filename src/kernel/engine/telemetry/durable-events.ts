import type { CallWait, Decision, RunWait } from "../../store/calls/durable/durable-call.ts";
import type { UndoneEffect } from "../durable/durable-calls.ts";
import type { NoteEvent } from "../../store/calls/durable/durable-step.ts";

/** A call that is kept while it waits. */
export interface DurableEvent {
  /** By which it is kept. */
  readonly id: string;
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
}

export interface PauseEvent extends DurableEvent {
  /** Number of its runs so far. */
  readonly legs: number;
  /** Kinds of what it waits for. */
  readonly waits: readonly CallWait["kind"][];
}

export interface ResumeEvent extends DurableEvent {
  /** Number of its runs so far. */
  readonly legs: number;
  /** `resumed`, or the code of the error with which it has ended. */
  readonly outcome: string;
  /** For how long it was ready to go on. */
  readonly readyForMs: number;
}

export interface SettleEvent extends DurableEvent {
  /** What the call has waited for, and what became of it. */
  readonly wait: CallWait["kind"];
  readonly state: CallWait["state"];
  /** For how long. */
  readonly waitedMs: number;
}

export interface UndoneEvent extends DurableEvent {
  /** Of each effect, in the order in which they were undone. */
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
  /** Who decided, as the deciding application says. */
  readonly actor: string | null;
  /** Digest of what an approval showed; `null` for an effect. */
  readonly digest: string | null;
  /** Whether other arguments are to run than those that were shown. */
  readonly isEdited: boolean;
}

/** `null` for a wait that is open, or that nobody waits for. */
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
  /** Name of the key that did it; `null` without keys. */
  readonly key: string | null;
}

export interface SnippetEvent {
  readonly name: string;
  readonly tenant: string;
  /** Name of the key that did it; `null` without keys. */
  readonly key: string | null;
}

export interface SnippetSaveEvent extends SnippetEvent {
  readonly version: string;
}

export interface NotifyEvent extends Partial<DurableEvent> {
  /** `failed`: it is tried again. `given_up`: after 24 hours. `dropped`: too many waited, and the oldest went. */
  readonly outcome: (typeof NOTIFY_OUTCOMES)[number];
  /** Number of notifications. All members besides are absent where they were dropped. */
  readonly count: number;
  /** Host of the target. */
  readonly target?: string;
  readonly event?: NoteEvent;
  /** The `webhook-id`. */
  readonly note?: string;
  readonly tries?: number;
  /** Why it was not delivered. */
  readonly reason?: string;
}

/** What became of a notification. */
export const NOTIFY_OUTCOMES = ["delivered", "failed", "given_up", "dropped"] as const;
