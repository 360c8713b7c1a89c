import type { CallIdle, CallReply } from "../../kernel/executor/executor.ts";
import type { CapabilityCall } from "../../kernel/base/protocol/capability-call.ts";
import type { RunLimits } from "../../kernel/base/protocol/messages.ts";
import type { ToolScript } from "../../kernel/base/protocol/script.ts";
import type { LedgerClaim } from "../../kernel/base/ledger-claim.ts";
import type { TextRef } from "../texts/texts.ts";
import type { JobTurn } from "../gate/turn.ts";

/**
 * The messages between servers and machines of a fleet. BullMQ's jobs carry calls to machines; messages carry the rest.
 * Each version of the protocol has its own queue, so that no machine gets a job it cannot read; envelopes carry their
 * version.
 */
export const PROTOCOL = 3;

/** Versions that a machine understands, newest first. */
export const UNDERSTOOD: readonly number[] = [PROTOCOL];

export function queueName(protocol: number): string {
  return `calls-${protocol}`;
}

/** A tool's wire form: a reference to its code by digest, and no config, which a machine requests from the server. */
export interface FleetScript extends Omit<ToolScript, "text" | "checks" | "config"> {
  /** Digest of all fields of the tool: servers with the same tool have the same key for it. */
  readonly key: string;
  readonly text: TextRef;
  /** The tool's `ToolChecks` as JSON; `null` if it has none. */
  readonly checks: TextRef | null;
  readonly hasConfig: boolean;
}

/** Limits that a machine enforces; the server enforces the rest. */
export interface FleetLimits extends RunLimits {
  readonly wallMs: number;
  readonly queueMs: number;
}

export interface FleetCallData {
  /** Unique for its server. */
  readonly callNumber: number;
  /** Indexes into `scripts` and `limits`. */
  readonly script: number;
  readonly limits: number;
  readonly tenant: string;
  readonly callId: string;
  /** JSON. */
  readonly args: string;
  readonly command?: string;
  readonly seed: string;
  /** The call's clock at its start: the same for every attempt on every machine. */
  readonly nowMs: number;
  readonly stream: boolean;
  /**
   * The claim in the ledger under which the result is stored if the server is lost. Only present on the first send of
   * the call.
   */
  readonly claim?: LedgerClaim;
}

/** The data of a job of BullMQ. */
export interface JobEnvelope {
  /** Readable without the payload, for members that only move the job in the queue. */
  readonly turn: JobTurn;
  /** A packed `JobData`: see `Payloads`. */
  readonly packed: string;
}

/** A job: calls that go together, or a module inspection. */
export interface JobData {
  readonly v: number;
  readonly server: string;
  readonly scripts: readonly FleetScript[];
  readonly limits: readonly FleetLimits[];
  readonly calls: readonly FleetCallData[];
  /** Whether the only call is a module inspection; its output is an `Inspection`. */
  readonly isInspection?: boolean;
  /** Whether some of its calls have begun before, in a job or a run: then even its first start waits for `resume`. */
  readonly isAgain?: boolean;
}

/** State of a call that another machine has started, or that continues after a pause. */
export interface Resumption {
  readonly callNumber: number;
  /** Number of its attempts. */
  readonly attempts: number;
  /** Number of its capability calls, and the times of their responses: a `ReplayPlan` as JSON, or empty text. */
  readonly asked: number;
  readonly plan: string;
}

/**
 * The call of a message. `start` is the job's attempt number, so that messages of a machine that lost the job are
 * ignored.
 */
interface CallReference {
  readonly callNumber: number;
  readonly start: number;
}

export type MachineMessage =
  /** The machine starts a job, for the n-th time. If n is not 1 or `isAgain` is set, it waits for `resume`. */
  | { readonly kind: "taken"; readonly job: string; readonly start: number }
  /**
   * `job` is the job that carried the call: the server may have sent the call again in another one, and must name the
   * job that it cancels.
   */
  | (CallReference & CapabilityCall & { readonly kind: "ask"; readonly job: string })
  /** Log lines, in order, from index `at` on; after a message with `isFull` the machine waits for `logged`. */
  | (CallReference & {
      readonly kind: "log";
      readonly at: number;
      readonly lines: readonly string[];
      readonly isFull?: true;
    })
  | (CallReference & { readonly kind: "progress"; readonly payload: string })
  | (CallReference & { readonly kind: "timed"; readonly step: number; readonly nowMs: number })
  | (CallReference & { readonly kind: "late"; readonly fired: number; readonly nowMs: number })
  | (CallReference & { readonly kind: "together"; readonly at: number; readonly count: number })
  | (CallReference & { readonly kind: "restart"; readonly attempts: number })
  /** A call that its server watches only waits. */
  | (CallReference & CallIdle & { readonly kind: "idle" })
  /**
   * `attempts` of the reply counts this machine's only. `refusedForMs`: time for which the machine refuses the tool's
   * calls. `isWorking`: the call's worker works on, and `spent` follows.
   */
  | (CallReference & {
      readonly kind: "done";
      readonly reply: CallReply;
      readonly refusedForMs?: number;
      readonly isWorking?: true;
    })
  /** Processor time of a call that was cancelled, or whose `done` came early, once its worker has stopped. */
  | (CallReference & { readonly kind: "spent"; readonly cpuMs: number })
  /**
   * The machine lacks a tool's code, which has expired or was lost, or its config, which is to be sealed for
   * `publicKey`.
   */
  | { readonly kind: "need"; readonly script: string; readonly what: "text" | "config"; readonly publicKey: string };

export type ServerMessage =
  /** For a job that another machine had started: those of its calls that have not ended. */
  | { readonly kind: "resume"; readonly job: string; readonly start: number; readonly calls: readonly Resumption[] }
  | {
      readonly kind: "answer";
      readonly callNumber: number;
      readonly step: number;
      readonly attempt: number;
      /** A `CapabilityResponse` or `Diverged` as JSON. */
      readonly answer: string;
    }
  /** Names the job and its start: the same call may have reached the machine again in another job. */
  | (CallReference & { readonly kind: "cancel"; readonly job: string })
  /** The server requests `idle` of the call from now on, and now if it is idle. */
  | (CallReference & { readonly kind: "watch"; readonly job: string })
  /** The server has received the lines of the last `log` message with `isFull`. */
  | (CallReference & { readonly kind: "logged"; readonly job: string })
  /** Reply to `need`: the text's reference or the sealed config; neither if the server no longer has the tool. */
  | {
      readonly kind: "have";
      readonly script: string;
      readonly text?: TextRef;
      readonly checks?: TextRef;
      readonly config?: string;
    };

/** The content of a machine's heartbeat. */
export interface MachineInfo {
  readonly id: string;
  /** Versions of the protocol that it understands. */
  readonly protocols: readonly number[];
  readonly slots: number;
  readonly busySlots: number;
  readonly isReady: boolean;
  readonly isDraining: boolean;
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  readonly starts: { readonly [kind: string]: number };
  readonly heapBytes: { readonly [tool: string]: number };
  readonly rssBytes: number;
  readonly quarantined: readonly string[];
  readonly isSandboxed: boolean;
  /** The system's host name. */
  readonly host?: string;
  /** Number of the heartbeat: a change shows a new one, independent of clocks. */
  readonly beat?: number;
}

/** A sender's messages to one recipient in one turn of its event loop. */
export interface Envelope<Message> {
  readonly v: number;
  readonly from: string;
  /** Number of the envelope, per sender and recipient: a duplicate is ignored. */
  readonly seq: number;
  readonly messages: readonly Message[];
}
