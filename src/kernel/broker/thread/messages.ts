import type { MessagePort } from "node:worker_threads";
import type { ErrorCode, Failure } from "../../base/errors.ts";
import type { Throttling } from "../../base/host-work-queue.ts";
import type { BrokeredCall } from "../brokered-call.ts";
import type { CapabilityCall, CapabilityResponse, Diverged } from "../../base/protocol/capability-call.ts";
import type { LateMessage, TimedMessage, TogetherMessage } from "../../base/protocol/messages.ts";
import type { HostDelta } from "../../base/tenant-account.ts";
import type { AttemptEnd, RunProgress, SessionEnd, SessionSnapshot } from "../call-session.ts";
import type { CallBinary, CallOperation, CapabilityRequest } from "../capabilities/capability.ts";
import type { FetchOptions } from "../capabilities/fetch/connections.ts";
import type { KvStoreOptions } from "../capabilities/kv/kv.ts";
import type { SecretViolation } from "../capabilities/secrets/placeholders.ts";
import type { SecretOptions } from "../capabilities/secrets/secrets.ts";
import type { AskLogging } from "../ask-log.ts";
import type { CallIdentity, CapabilityRecord } from "../capability-event.ts";
import type { EndedMethod } from "../method-call.ts";
import type { Policy, PolicySubject } from "../policy.ts";
import type { HostCapabilityShape, HostMethod } from "./host-capability.ts";

/** Data with which a broker thread starts: its first message. */
export interface ThreadSettings {
  readonly fetch: Omit<FetchOptions, "lookup">;
  /** Whether the embedder resolves host names itself, on its own thread. */
  readonly hasLookup: boolean;
  /** With their values. */
  readonly secrets: { readonly [name: string]: SecretOptions };
  /** Variables that tools may be granted, without those of secrets. */
  readonly environment: { readonly [name: string]: string | undefined };
  readonly kv: KvStoreOptions;
  /** Capabilities of packages. */
  readonly modules: readonly ToldModule[];
  /** Capabilities whose methods the embedder's thread carries out. */
  readonly host: readonly HostCapabilityShape[];
  /** The folder of this process's control groups; `null` for none. */
  readonly groups: string | null;
  /** Whether executor processes have pipes to the broker. */
  readonly listens: boolean;
}

/** A capability of a package, as the thread opens it. */
export interface ToldModule {
  readonly name: string;
  /** URL of the module. */
  readonly module: string;
  /** The state that the engine's side has set; `undefined` if it has set none. */
  readonly state: unknown;
}

/** A tool, for the broker's decisions on its calls. */
export interface ToldTool extends Omit<PolicySubject, "tenant"> {
  readonly requested: CapabilityRequest;
  /** A capability of its calls alone. */
  readonly own: HostCapabilityShape | null;
}

/** A call that may make capability calls: the only message that gives a call authority. */
export interface SessionStart {
  readonly kind: "start";
  readonly call: number;
  readonly callId: string;
  readonly parentId: string | undefined;
  /** Numbers of a `tool` and a `policy`. */
  readonly tool: number;
  readonly policy: number;
  readonly tenant: string;
  readonly narrowed: CapabilityRequest | undefined;
  readonly limits: BrokeredCall["limits"];
  readonly isRecorded: boolean;
  /** See `BrokeredCall`. */
  readonly journal?: string | undefined;
  /** The part of its journal that is stored while it runs. Default: none, and its effects are not announced. */
  readonly keeps?: Keeps;
  /** See `BrokeredCall`. */
  readonly effectsId?: string | undefined;
  /** Whether arguments are hashed for a listener. */
  readonly isHeard: boolean;
  /** Logging of its capability calls. Default: its record has none. */
  readonly logging?: AskLogging | undefined;
  /** Binary of the call's tool, by its path. */
  readonly binary: CallBinary | undefined;
  readonly remote: CallOperation | undefined;
}

/** All capability calls and responses of a call; or nothing, if a parent is stored, which is asked before effects. */
export type Keeps = "journal" | "nothing";

/** Messages of a call's worker besides its capability calls, by which a further attempt can repeat the call. */
export type ReplayNote = TimedMessage | LateMessage | TogetherMessage;

/** Messages to the thread. They travel in lists, one for each turn of the event loop. */
export type ToThread =
  | { readonly kind: "policy"; readonly number: number; readonly policy: Policy }
  | { readonly kind: "tool"; readonly number: number; readonly tool: ToldTool }
  /** No later call has this policy or tool. */
  | { readonly kind: "forget"; readonly what: "policy" | "tool"; readonly number: number }
  | SessionStart
  /** An attempt of a call begins on the worker with that pipe. */
  | { readonly kind: "begin"; readonly call: number; readonly pipe: number; readonly attempt: number }
  /** The answer to `who`: that attempt of the call no longer runs there. */
  | { readonly kind: "gone"; readonly call: number; readonly pipe: number; readonly attempt: number }
  /** A worker will have a pipe: its port, or a connection that begins with a word. */
  | { readonly kind: "pipe"; readonly pipe: number; readonly end: MessagePort | string }
  /** A capability call that did not come by a worker's pipe. Its response is a `response`. */
  | { readonly kind: "ask"; readonly call: number; readonly ask: CapabilityCall }
  | { readonly kind: "note"; readonly note: ReplayNote }
  /** The call runs again: later messages of its earlier attempts are ignored. Answered by `planned`. */
  | { readonly kind: "plan"; readonly call: number }
  /**
   * The call has ended: its methods are aborted, and its resources released. Answered by `ended`. `isHeld`: another `end`
   * or a `keep` follows.
   */
  | { readonly kind: "end"; readonly call: number; readonly end: AttemptEnd; readonly isHeld?: true }
  /** Asks for the journal of a run at rest. Answered by `snapshot`. */
  | { readonly kind: "snapshot"; readonly call: number; readonly progress: RunProgress }
  /** Continues the run after its snapshot. */
  | { readonly kind: "goOn"; readonly call: number }
  /** The call has ended, and its record gets the broker's part. Answered by `kept`. */
  | { readonly kind: "keep"; readonly call: number }
  /** The end of a `handle`. */
  | { readonly kind: "handled"; readonly request: number; readonly end: EndedMethod }
  /** The answer to `announce`: the effect may happen, or the reason against it. */
  | { readonly kind: "announced"; readonly request: number; readonly failure: Failure | null }
  | { readonly kind: "resolved"; readonly lookup: number; readonly addresses: readonly string[] | null }
  /** The state of a package's capability from now on. */
  | { readonly kind: "state"; readonly capability: string; readonly state: unknown }
  /** The end of a `question`. */
  | { readonly kind: "answered"; readonly request: number; readonly end: AnswerEnd }
  | { readonly kind: "close" };

/** The answer of the engine's side, or the reason for none. */
export type AnswerEnd =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "failed"; readonly message: string; readonly needsLogin: boolean };

/** A capability call that has ended. */
export interface ToldOutcome {
  readonly kind: "outcome";
  readonly call: number;
  /** Of a call that has ended before. */
  readonly of: CallIdentity | null;
  readonly record: CapabilityRecord;
  /** Whether it only continued an earlier one. */
  readonly isContinuation: boolean;
  /** The error code of its response. */
  readonly code: ErrorCode | null;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** Messages of the thread. */
export type FromThread =
  | {
      readonly kind: "response";
      readonly call: number;
      readonly ask: string;
      readonly response: CapabilityResponse | Diverged;
    }
  /** The name by which executor processes are connected; `null` if that is impossible. */
  | { readonly kind: "listening"; readonly path: string | null }
  /** The broker does not know a call that made a capability call. Answered by `start` and `begin`, or `gone`. */
  | { readonly kind: "who"; readonly call: number; readonly pipe: number; readonly attempt: number }
  /** The call does not repeat its capability calls of an earlier attempt. */
  | {
      readonly kind: "diverged";
      readonly call: number;
      readonly pipe: number;
      readonly attempt: number;
      readonly message: string;
    }
  /** A worker sent an invalid message. */
  | { readonly kind: "broken"; readonly pipe: number; readonly reason: string }
  /** A part of the journal of a call that is stored. */
  | { readonly kind: "append"; readonly call: number; readonly part: string }
  /** An effect of such a call is about to happen. Answered by `announced`. */
  | {
      readonly kind: "announce";
      readonly request: number;
      readonly call: number;
      readonly step: number;
      readonly isRepeatable: boolean;
    }
  | { readonly kind: "snapshot"; readonly call: number; readonly snapshot: SessionSnapshot | null }
  | { readonly kind: "planned"; readonly call: number; readonly plan: string }
  /** The session's last message. */
  | { readonly kind: "ended"; readonly call: number; readonly end: SessionEnd; readonly delta: HostDelta | null }
  | {
      readonly kind: "kept";
      readonly call: number;
      readonly told: Uint8Array<ArrayBuffer> | null;
      readonly delta: HostDelta | null;
    }
  | { readonly kind: "spent"; readonly call: number; readonly effects: number; readonly delta: HostDelta }
  | ToldOutcome
  /** A method of a capability of the embedder's thread. */
  | ({ readonly kind: "handle"; readonly request: number } & HostMethod)
  /**
   * Estimated time until a further request of the tenant would run, in milliseconds. Sent while above 0, and then 0.
   */
  | { readonly kind: "backlog"; readonly tenant: string; readonly ms: number }
  | { readonly kind: "lookup"; readonly lookup: number; readonly hostname: string }
  /** A question of a package's capability to its side on the embedder's thread. */
  | { readonly kind: "question"; readonly request: number; readonly capability: string; readonly question: unknown }
  /** The answer to a `question` is no longer needed. */
  | { readonly kind: "unask"; readonly request: number }
  | { readonly kind: "violation"; readonly violation: SecretViolation }
  /** A report of a package's capability to its side on the embedder's thread. */
  | { readonly kind: "report"; readonly capability: string; readonly report: unknown }
  | { readonly kind: "throttled"; readonly throttling: Throttling };
