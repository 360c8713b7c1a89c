import type { CallReply } from "../../executor/executor.ts";
import type { CapabilityCall } from "../../base/protocol/capability-call.ts";
import type { RunLimits } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import type { LedgerClaim } from "../../base/ledger-claim.ts";
import type { TextRef } from "../texts/texts.ts";
import type { JobTurn } from "../gate/turn.ts";

/**
 * The messages between servers and machines of a fleet. Jobs of BullMQ bring calls to machines, messages bring all else. Each
 * version of the protocol has a queue of its own, so no machine is given what it cannot read; envelopes say their version.
 */
export const PROTOCOL = 2;

/** Versions that a machine understands, the newest first. */
export const UNDERSTOOD: readonly number[] = [PROTOCOL];

export function queueName(protocol: number): string {
  return `calls-${protocol}`;
}

/** A tool as it travels: its code is elsewhere, by content, and its config is only told to those who ask for it. */
export interface FleetScript extends Omit<ToolScript, "text" | "config"> {
  /** Of all that the tool is: servers that have the same tool have one key for it. */
  readonly key: string;
  readonly text: TextRef;
  readonly hasConfig: boolean;
}

/** Limits that a machine enforces; the server enforces the rest. */
export interface FleetLimits extends RunLimits {
  readonly wallMs: number;
  readonly queueMs: number;
}

export interface FleetCallData {
  /** Unique within its server. */
  readonly run: number;
  /** Of `scripts` and of `limits`. */
  readonly script: number;
  readonly limits: number;
  readonly tenant: string;
  readonly callId: string;
  /** JSON. */
  readonly args: string;
  readonly command?: string;
  readonly seed: string;
  /** The call's clock at its start: the same for every start on every machine. */
  readonly nowMs: number;
  readonly stream: boolean;
  /** Where its end may be left for others to find if its server is lost. A call that has it has never been sent before. */
  readonly ticket?: LedgerClaim;
}

/** The data of a job of BullMQ. */
export interface JobEnvelope {
  /** When it is due, for those who change the order and need not know what it is. */
  readonly turn: JobTurn;
  /** A `JobData`: see `Payloads`. */
  readonly packed: string;
}

/** A job: calls that go together, or a module that is to be inspected. */
export interface JobData {
  readonly v: number;
  readonly server: string;
  readonly scripts: readonly FleetScript[];
  readonly limits: readonly FleetLimits[];
  readonly calls: readonly FleetCallData[];
  /** Whether the only call is no call but wants to know what its script exports; its output is an `Inspection`. */
  readonly isInspection?: boolean;
  /** Whether some of its calls have been begun before in another job: its first start has to ask for leave as well. */
  readonly isAgain?: boolean;
}

/** State of a call that another machine had started. */
export interface Resumption {
  readonly run: number;
  /** Number of its starts. */
  readonly attempts: number;
  /** Number of its capability calls, and the times of their responses: a `ReplayPlan` as JSON, or empty text. */
  readonly asked: number;
  readonly plan: string;
}

/** The call of a message. `start` is the job's attempt number, so that messages of a machine that lost the job are ignored. */
interface CallReference {
  readonly run: number;
  readonly start: number;
}

export type MachineMessage =
  /** It begins with a job, for the n-th time, or asks for leave to where n is not 1, or its calls have been begun before. */
  | { readonly kind: "taken"; readonly job: string; readonly start: number }
  /** `job` brought the call: its server may have sent it again since in another, and has to say which one it ends. */
  | (CallReference & CapabilityCall & { readonly kind: "ask"; readonly job: string })
  /** Log lines, in order, from this index on; after a marked message the machine waits for `logged`. */
  | (CallReference & {
      readonly kind: "log";
      readonly at: number;
      readonly lines: readonly string[];
      readonly isFull?: true;
    })
  | (CallReference & { readonly kind: "progress"; readonly payload: string })
  | (CallReference & { readonly kind: "timed"; readonly step: number; readonly nowMs: number })
  | (CallReference & { readonly kind: "restart"; readonly attempts: number })
  /** `attempts` of the reply are the machine's own. `refusedForMs`: how long the machine refuses the tool's calls. */
  | (CallReference & { readonly kind: "done"; readonly reply: CallReply; readonly refusedForMs?: number })
  /** It lacks a tool's code, which has expired or was lost, or its config, which is sealed for this key. */
  | { readonly kind: "need"; readonly script: string; readonly what: "text" | "config"; readonly publicKey: string };

export type ServerMessage =
  /** Of a job that another machine had begun: the calls that have not ended meanwhile. */
  | { readonly kind: "resume"; readonly job: string; readonly start: number; readonly calls: readonly Resumption[] }
  | {
      readonly kind: "answer";
      readonly run: number;
      readonly step: number;
      readonly attempt: number;
      /** A `CapabilityResponse` or `Diverged` as JSON. */
      readonly answer: string;
    }
  /** Of this start of this job: the same call may have come to the machine once more. */
  | (CallReference & { readonly kind: "cancel"; readonly job: string })
  /** The lines have come that were the last for a while. */
  | (CallReference & { readonly kind: "logged"; readonly job: string })
  /** Reply to `need`: the text's place or the sealed config; neither where the server no longer has the tool. */
  | { readonly kind: "have"; readonly script: string; readonly text?: TextRef; readonly config?: string };

/** The content of a machine's heartbeat. */
export interface MachineInfo {
  readonly id: string;
  /** The versions of the protocol that it understands. */
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
  /** The name of its system. */
  readonly host?: string;
  /** Number of the heartbeat: a change shows a new one, independent of clocks. */
  readonly beat?: number;
}

/** All that a sender says to one recipient in one turn of its event loop. */
export interface Envelope<Message> {
  readonly v: number;
  readonly from: string;
  /** Counts the envelopes from this sender to this recipient: one that comes twice is read once. */
  readonly seq: number;
  readonly messages: readonly Message[];
}
