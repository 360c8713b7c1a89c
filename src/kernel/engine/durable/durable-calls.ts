import type { ToolError } from "../../base/errors.ts";
import type { JsonValue } from "../../base/json.ts";
import type { ToolResult } from "../../base/result.ts";
import type {
  CallState,
  CallWait,
  Decision,
  DurableCall,
  DurableCallDetail,
} from "../../store/calls/durable/durable-call.ts";
import type { DurablePage } from "../../store/calls/durable/durable-step.ts";

/** Longest wait of a caller for the end of a call that has paused, and its default, in milliseconds. */
export const WAIT_MAX_MS = 25_000;

/** Tenant and tools of durable calls. `tenant`: default all; `tools`: names that may end in `*`. */
export interface DurableOfWhom {
  readonly tenant?: string | undefined;
  readonly tools?: readonly string[] | undefined;
}

/** Durable calls to list, newest first. */
export interface DurableFilter extends DurableOfWhom {
  /** One state, or calls in any of several. Default: all. */
  readonly state?: CallState | readonly CallState[];
  readonly tool?: string;
  /**
   * Only calls that are stale, or only those that are not: see `DurableCall.isStale`. A page may then have fewer calls
   * than its `limit`, as one list reads no more than 2,200. Default: all.
   */
  readonly stale?: boolean;
  /** 1 to 200. Default 50. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** The decider: the name of a key, or `null` if no keys are required, as in a library. */
export interface Decider extends DurableOfWhom {
  readonly key: string | null;
}

/** Thrown if a call is not in the state that the decision assumes, or may not be decided so. `call`: its state now. */
export class DecisionConflict extends Error {
  override readonly name = "DecisionConflict";
  readonly call: DurableCall;

  constructor(message: string, call: DurableCall) {
    super(message);
    this.call = call;
  }
}

/** Time to wait for the end of a call, at most and by default 25,000 milliseconds, and the signal that stops it. */
export interface EndWait {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** Time to wait for an undoing, and whether to retry it. */
export interface UndoWait extends EndWait {
  /**
   * Whether effects whose undoing has failed are retried, and only these, if the last try has ended. At most four
   * times. Default: false.
   */
  readonly again?: boolean;
}

/**
 * The outcome of the undoing of an effect. `undone`: its tool's `undo` has ended without an error; `failed`: with one;
 * `no_undo`: its tool has none; `irreversible`: the call itself did it, for example by a request of `fetch`;
 * `in_doubt`: it is unknown whether it happened, or whether it was undone.
 */
export interface UndoneEffect {
  /** Number of the capability call within the call, from 1. */
  readonly step: number;
  /** Durable id of the call below that did it; absent if the call itself did it. */
  readonly call?: string;
  /** Capability and method, as `tools.call`. */
  readonly asked: string;
  /** The tool that was called; `null` for another effect. */
  readonly tool: string | null;
  readonly outcome: "undone" | "failed" | "no_undo" | "irreversible" | "in_doubt";
  readonly message?: string;
}

/** A call's undoing. It is a call of its own, and may wait, too. */
export interface UndoReport {
  /** The id of the undoing call: that of the other with `.undo`, or `.undo.2` for a second try. */
  readonly id: string;
  readonly state: CallState;
  /** Each effect, the last one first; `null` if the undoing has not ended, or has failed as a whole. */
  readonly effects: readonly UndoneEffect[] | null;
  /** The error of the undoing as a whole. */
  readonly error: ToolError | null;
}

/** The decision that a link of a notification offers. */
export type LinkedCall =
  /** `decide` rejects as `decide` of calls does. */
  | {
      readonly kind: "open";
      readonly call: DurableCall;
      readonly wait: CallWait & { readonly kind: "approval" };
      readonly decide: (decision: "approve" | "refuse", digest: string) => Promise<DurableCall | undefined>;
    }
  /** It decides nothing any more, or cannot decide this, with the reason in words. */
  | { readonly kind: "gone" | "forbidden"; readonly reason: string };

/** Calls that pause, and continue later. Methods reject with a `StoreError` if the store cannot be used. */
export interface DurableCalls {
  /** Rejects with a `RangeError` that names a wrong filter. */
  list(filter?: DurableFilter): Promise<DurablePage>;
  /** A call with its runs and effects. `undefined` if there is no such call. */
  get(id: string, whose?: DurableOfWhom): Promise<DurableCallDetail | undefined>;
  /**
   * Its result: one with the code `paused` while it has not ended, and with `store_failed` if another program changed
   * its stored data, so that it cannot continue. `waitMs`: time to wait for the end; at most 25,000. `undefined` if
   * there is no such call.
   */
  result(id: string, whose?: DurableOfWhom, options?: EndWait): Promise<ToolResult | undefined>;
  /**
   * Decides waits of a call, all or none. A repeated decision gets the same answer. `undefined` if there is no such
   * call. Rejects with a `DecisionConflict`, with a `RangeError` that names a malformed part, and with a
   * `GloveboxError`: `forbidden` if this key may not decide, `invalid_arguments` if edited arguments do not match their
   * schema.
   */
  decide(id: string, decisions: Decision | readonly Decision[], by?: Decider): Promise<DurableCall | undefined>;
  /** Sends a signal, kept until the call waits for it. `undefined` for an unknown call. Rejects as `decide` does. */
  signal(id: string, name: string, payload?: JsonValue, by?: Decider): Promise<DurableCall | undefined>;
  /**
   * Ends a call with `cancelled`. `undefined` if it does not exist. Rejects with a `DecisionConflict` if it has ended.
   */
  cancel(id: string, reason?: string, by?: Decider): Promise<DurableCall | undefined>;
  /**
   * Undoes the tool calls of a call, the last one first, each once, regardless of repeated requests. Their tools
   * declare how, in `undo`: it is a second act, not a rollback. An undoing call is subject to the policy and its
   * approvals like other calls. Resolves with the report so far, after `waitMs`. `undefined` if there is no such call.
   * Rejects with a `DecisionConflict` if the call has not ended, has called no tools, or was tried too often.
   */
  undo(id: string, by?: Decider, options?: UndoWait): Promise<UndoReport | undefined>;
  /** The decision that a link offers. `undefined` if there is no such link. Rejects as `decide` does. */
  byLink(token: string): Promise<LinkedCall | undefined>;
}
