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
   * Only calls that are stale, or only those that are not: see `DurableCall.isStale`. A page may then have fewer calls than
   * its `limit`, as one list looks at no more than 2,200. Default: all.
   */
  readonly stale?: boolean;
  /** 1 to 200. Default 50. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** Who decides: the name of a key, or `null` where no keys are required, as in a library. */
export interface Decider extends DurableOfWhom {
  readonly key: string | null;
}

/** Thrown where a call is no longer as the decision assumes, or may not be decided so: `call` is what there is now. */
export class DecisionConflict extends Error {
  override readonly name = "DecisionConflict";
  readonly call: DurableCall;

  constructor(message: string, call: DurableCall) {
    super(message);
    this.call = call;
  }
}

/** How long to wait for the end of a call, at most and by default 25,000 milliseconds, and what stops the waiting. */
export interface EndWait {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** How long to wait for an undoing, and whether to try again. */
export interface UndoWait extends EndWait {
  /**
   * Whether effects whose undoing has failed are tried again, and only these, where the last try has ended. It may be done
   * four times. Default: false.
   */
  readonly again?: boolean;
}

/**
 * What became of an effect of a call that was undone. `undone`: its tool's `undo` has ended without an error; `failed`: with
 * one; `no_undo`: its tool has none; `irreversible`: the call did it itself, as by a request of `fetch`; `in_doubt`: nobody
 * knows whether it happened, or whether it was undone.
 */
export interface UndoneEffect {
  /** Number of the capability call within the call, from 1. */
  readonly step: number;
  /** Durable id of the call below that did it; absent where the call did it itself. */
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
  /** The id of the call that undoes: that of the other with `.undo`, of a second try with `.undo.2`. */
  readonly id: string;
  readonly state: CallState;
  /** Each effect, the last one first; `null` where the undoing has not ended, or has failed as a whole. */
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
  /** It decides nothing any more, or not this: why, in words. */
  | { readonly kind: "gone" | "forbidden"; readonly reason: string };

/** Calls that pause, and go on later. Methods reject with a `StoreError` where the store cannot be used. */
export interface DurableCalls {
  /** Rejects with a `RangeError` that names a wrong filter. */
  list(filter?: DurableFilter): Promise<DurablePage>;
  /** A call with what it has done. `undefined` if there is no such call. */
  get(id: string, whose?: DurableOfWhom): Promise<DurableCallDetail | undefined>;
  /**
   * Its result: one with the code `paused` while it has not ended, and with `store_failed` where what is kept of it was changed
   * by another program, so that it goes on nowhere. `waitMs`: how long to wait for the end; at most 25,000.
   * `undefined` if there is no such call.
   */
  result(id: string, whose?: DurableOfWhom, options?: EndWait): Promise<ToolResult | undefined>;
  /**
   * Decides waits of a call, all or none. The same decision again answers the same. `undefined` if there is no such call.
   * Rejects with a `DecisionConflict`, with a `RangeError` that names what is malformed, and with a `GloveboxError`:
   * `forbidden` where this key may not decide, `invalid_arguments` where edited arguments do not match their schema.
   */
  decide(id: string, decisions: Decision | readonly Decision[], by?: Decider): Promise<DurableCall | undefined>;
  /** Sends a signal, which is kept until the call waits for it. `undefined` if there is no such call. Rejects as `decide` does. */
  signal(id: string, name: string, payload?: JsonValue, by?: Decider): Promise<DurableCall | undefined>;
  /** Ends a call with `cancelled`. `undefined` if there is no such call. Rejects with a `DecisionConflict` where it has ended. */
  cancel(id: string, reason?: string, by?: Decider): Promise<DurableCall | undefined>;
  /**
   * Undoes the calls of tools that a call has made, the last one first, each once, however often it is asked for. Their
   * tools say how, in `undo`: it is a second act, not a rollback. A call that undoes passes the policy and its approvals as
   * other calls do. Resolves with the report so far, after `waitMs`. `undefined` if there is no such call. Rejects with a
   * `DecisionConflict` where the call has not ended or has called no tools, or was tried too often.
   */
  undo(id: string, by?: Decider, options?: UndoWait): Promise<UndoReport | undefined>;
  /** The decision that a link offers. `undefined` if there is no such link. Rejects as `decide` does. */
  byLink(token: string): Promise<LinkedCall | undefined>;
}
