import type { JsonSchema } from "../../../base/json.ts";
import type { ToolResult } from "../../../base/result.ts";
import type { JournalAsk } from "./journal-asks.ts";

/** State of a durable call. One that is `paused` or `ready` holds no worker, no memory and no promise. */
export const CALL_STATES = ["running", "paused", "ready", "in_doubt", "ended"] as const;
export type CallState = (typeof CALL_STATES)[number];

/**
 * State of a wait. It is settled as `approved` or `refused` by a decision, as `arrived` by a signal, as `due` by its
 * time, as `done` by the end of a child call, as `happened` or `did_not_happen` by a decision about an effect, as
 * `expired` by the clock, and as `void` if nothing waits for it any more.
 */
export type WaitState =
  "open" | "approved" | "refused" | "expired" | "arrived" | "due" | "done" | "happened" | "did_not_happen" | "void";

/** The subject of a wait. */
export type WaitKind =
  | {
      readonly kind: "approval";
      /** The tool to run; `null` if a program or a tool requests the approval itself. */
      readonly tool: string | null;
      /** Digest of the tool's version, as `ToolInfo.digest` has it. */
      readonly version: string | null;
      /** The values with which the tool runs, or which the call shows. */
      readonly arguments: unknown;
      /** Identifies the shown tool, version and arguments. A decision sends it back. */
      readonly digest: string;
      readonly message: string;
      /** Schema of the data that an approval brings; `null` for none. */
      readonly schema: JsonSchema | null;
      /** The source of the request: `policy.approvals[0]`, `tool`, `listener` or `call`. */
      readonly from: string;
      /** Whether the key that made the call may decide, too. */
      readonly self: boolean;
      /** Names of keys that may decide, each of which may end in `*`; empty: each key with the role. */
      readonly by: readonly string[];
    }
  | { readonly kind: "signal"; readonly name: string }
  /** In ISO 8601. */
  | { readonly kind: "time"; readonly until: string }
  /** A child call that has paused, by its id. */
  | { readonly kind: "call"; readonly id: string }
  /** The unknown outcome of an effect that was under way when the call's process was lost. */
  | {
      readonly kind: "outcome";
      /** Capability and method, as `fetch.request`. */
      readonly asked: string;
      /** JSON of its arguments; of long ones their length and digest. */
      readonly arguments: string;
    };

/** One wait of a durable call, by the step that requests it: 0 for the call itself before its start. */
export type CallWait<Value = unknown> = WaitKind & {
  readonly step: number;
  readonly state: WaitState;
  /** In ISO 8601. */
  readonly openedAt: string;
  /** `null` for a wait without an end. */
  readonly expiresAt: string | null;
  /** Its settlement; `null` while it is open. */
  readonly settled: WaitSettlement<Value> | null;
};

/** A wait for the run that continues with it: values are JSON, in which long integers have their digits. */
export type RunWait = CallWait<string>;

/** Whether a wait needs no settlement any more, and is not void. */
export function isSettled({ state }: Pick<CallWait, "state">): boolean {
  return state !== "open" && state !== "void";
}

/** Whether two waits are the same: a step may wait for something else in a later run. */
export function isSameWait(wait: WaitKind, other: WaitKind): boolean {
  switch (wait.kind) {
    case "approval":
      return other.kind === "approval" && wait.digest === other.digest;
    case "signal":
      return other.kind === "signal" && wait.name === other.name;
    case "time":
      return other.kind === "time";
    case "call":
      return other.kind === "call" && wait.id === other.id;
    case "outcome":
      return false;
  }
}

/** The settlement of a wait. */
export interface WaitSettlement<Value = unknown> {
  /** In ISO 8601. */
  readonly at: string;
  /** Name of the key that decided or sent the signal; `null` without keys. */
  readonly by: string | null;
  /** Name that the deciding application gave. */
  readonly actor: string | null;
  readonly reason: string | null;
  /** Arguments in place of the shown ones; `null` if they were left unchanged. */
  readonly arguments: Value | null;
  /** Data of an approval, payload of a signal, result of a child call, or answer of an effect. */
  readonly data: Value | null;
}

/** A call that may pause, as readers see it. Times in ISO 8601. */
export interface DurableCall {
  /** `c_` and 96 random bits. */
  readonly id: string;
  /** The id of the call in its result's metadata. */
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  /** Durable id of the calling call, if a tool made this call. */
  readonly parentId: string | null;
  /** Name of the key with which it was made. */
  readonly key: string | null;
  readonly state: CallState;
  /** Number of its runs so far. */
  readonly legs: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Time at which it ends as `cancelled` if it has not ended before. */
  readonly expiresAt: string;
  /**
   * Whether it has not ended and its tool is no longer registered here, or as another version or with another config;
   * or it waits for the approval of such a tool. It continues with the code of its start, as long as its tool is
   * registered.
   */
  readonly isStale: boolean;
  readonly waits: readonly CallWait[];
  /** Its result; `null` before its end, and in a list. */
  readonly result: ToolResult | null;
}

/** A durable call with its runs and effects. */
export interface DurableCallDetail extends DurableCall {
  /** The last 20 of its runs. */
  readonly runs: readonly CallRun[];
  /** The last 200 of its effects, in the order of its requests, without reads. */
  readonly effects: readonly CallEffect[];
  /** Number of further ones, among its last 1,000 capability calls. */
  readonly effectsOmitted: number;
  /** The program as it runs, in JavaScript, if its tool runs one and it is still kept. */
  readonly program: string | null;
}

/** One run of a durable call, which has a process to itself. Times in ISO 8601. */
export interface CallRun {
  /** From 1. */
  readonly number: number;
  /** Identifies the engine that ran it, among those with the same store. */
  readonly holder: string;
  readonly begunAt: string;
  /** `null` while it runs. */
  readonly endedAt: string | null;
  /**
   * `paused`: it waits; `ended`: with the call; `lost`: it was cut off, for example by the death of its process. `null`
   * while it runs.
   */
  readonly outcome: "paused" | "ended" | "lost" | null;
}

/** An effect of a durable call outside of its isolate, done or in doubt. */
export interface CallEffect {
  /** Number of the capability call within the call, from 1. */
  readonly step: number;
  /** Capability and method, as `tools.call`. */
  readonly asked: string;
  /** The tool that was called; `null` for another effect, and if it is not known. */
  readonly tool: string | null;
  /**
   * Of the call of a tool: the beginning of its arguments as JSON, at most 2,000 characters, without values that its
   * schema declares as passwords. `null` if they are longer than 4,096 characters, or not kept.
   */
  readonly arguments: string | null;
  /** Of another effect: its subject, as the history of calls shows it, such as an address without its query. */
  readonly target: string | null;
  /** Method of a request of HTTP, such as `POST`; `null` for another effect. */
  readonly httpMethod: string | null;
  /**
   * `announced`: it is about to happen, or under way; `done` and `failed`: it was answered, `failed` with an error;
   * `in_doubt`: it is unknown whether it happened.
   */
  readonly state: "announced" | "done" | "failed" | "in_doubt";
  /** Time of its answer, by the call's clock, in ISO 8601; `null` without an answer. */
  readonly answeredAt: string | null;
}

/** A call as the store gives it: `result` is the JSON of a `ToolResult`. */
export interface KeptCall extends Omit<DurableCall, "result" | "isStale"> {
  readonly result: string | null;
  /** Digest of the script of its start; `null` for a program. */
  readonly script: string | null;
}

/** The past of a call, as the store gives it. */
export interface KeptPast {
  readonly runs: readonly CallRun[];
  readonly asks: readonly JournalAsk[];
  /** The call's `record`, if it may be that of a program, and is not too long; else empty. */
  readonly record: string;
}

/** A wait that a call brings to the store. */
export interface NewWait {
  readonly step: number;
  readonly wait: WaitKind;
  readonly openedMs: number;
  readonly expiresMs: number | null;
}

/** A call that pauses: all of it at its first pause, and the changes at later ones. */
export interface PausedCall {
  readonly id: string;
  /** The run that pauses; 0: it has not run. */
  readonly leg: number;
  /** Written with the call, and never again. */
  readonly made: MadeCall | null;
  /** JSON about its runs, as the engine reads it again. */
  readonly runs: string;
  /** JSON of the journal so far, and of the `ReplayPlan` of a run that continues from it. */
  readonly journal: string;
  readonly plan: string;
  /** Waits that are open now: those that the store does not know are added. */
  readonly waits: readonly NewWait[];
  /** Time at which it continues by itself, for example for a timer; `null`: when a wait is settled. */
  readonly wakeMs: number | null;
}

/** The parts of a durable call that no run changes. */
export interface MadeCall {
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  readonly key: string | null;
  /** `leg`: the run of that call which makes this one. */
  readonly parent: { readonly id: string; readonly step: number; readonly leg?: number } | null;
  readonly createdMs: number;
  readonly expiresMs: number;
  /** Whether its tool calls are undone if it ends with an error. */
  readonly undoesOnFailure: boolean;
  /** Its first run, if that was not stored at its begin. */
  readonly begun?: { readonly holder: string; readonly atMs: number };
  /** JSON without the script, as the engine reads it again. */
  readonly record: string;
  /** JSON of the tool's script, which many calls share, and its digest. */
  readonly script: { readonly hash: string; readonly text: string } | null;
}

/** A call that is to continue, with all data that the engine needs for it. */
export interface ClaimedCall extends Omit<MadeCall, "script" | "undoesOnFailure" | "begun"> {
  readonly id: string;
  readonly leg: number;
  /** Time for which it has been ready. */
  readonly readyForMs: number;
  readonly script: string | null;
  readonly runs: string;
  readonly journal: string;
  readonly plan: string;
  readonly waits: readonly RunWait[];
  /** Number of those that an earlier run has received: they come first. */
  readonly heardWaits: number;
}

/** A decision about a wait. */
export interface Decision {
  /** The wait's step. Default: the only open approval. */
  readonly wait?: number;
  /** About an effect whose outcome is unknown: `happened` or `did_not_happen`. */
  readonly decision: "approve" | "refuse" | "happened" | "did_not_happen";
  /** Required to approve: the `digest` that the wait shows. */
  readonly digest?: string;
  /** Arguments in place of those shown, if they match the tool's schema. */
  readonly arguments?: unknown;
  /** Data for the call, which gets it with the approval; at most 65,536 characters as JSON. */
  readonly data?: unknown;
  /**
   * The answer of an effect that happened, for the call: of a tool its output, and of `fetch.request` a response such
   * as `{ status: 201, headers: {}, body: "" }`. Default `null`. At most 65,536 characters as JSON.
   */
  readonly answer?: unknown;
  /** At most 1,000 characters. */
  readonly reason?: string;
  /** Name of the person who has decided, from the deciding application; at most 256 characters. */
  readonly actor?: string;
}

/** Limits of the stored data of durable calls. */
export interface DurableCapacity {
  /** Bytes of a call: record, journal, waits and signals. Default 8 MiB. */
  readonly callBytes: number;
  /**
   * Calls of a tenant that have not ended, and their bytes. Default 10,000 and 1 GiB. As many ended calls, and as many
   * bytes of their results, are kept besides: the oldest are removed first.
   */
  readonly perTenant: number;
  readonly tenantBytes: number;
  /** Time for which an ended call is kept. Default 24 hours. */
  readonly keepMs: number;
}

export const DEFAULT_DURABLE: DurableCapacity = {
  callBytes: 8 * 1024 ** 2,
  perTenant: 10_000,
  tenantBytes: 1024 ** 3,
  keepMs: 24 * 60 * 60 * 1_000,
};
/** Open waits, unread signals and runs of a call. */
export const WAITS_MAX = 32;
export const SIGNALS_MAX = 16;
export const LEGS_MAX = 1_000;
/** Consecutive lost runs of a call after which it is not run again. */
export const LOST_MAX = 20;
