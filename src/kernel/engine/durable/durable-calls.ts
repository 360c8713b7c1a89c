import type { JsonValue } from "../../base/json.ts";
import type { ToolResult } from "../../base/result.ts";
import type {
  CallState,
  CallWait,
  Decision,
  DurableCall,
  DurablePage,
} from "../../store/calls/durable/durable-call.ts";

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

/** What a link of a notification decides. */
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
  /** `undefined` if there is no such call. */
  get(id: string, whose?: DurableOfWhom): Promise<DurableCall | undefined>;
  /**
   * Its result: one with the code `paused` while it has not ended. `waitMs`: how long to wait for the end; at most 25,000.
   * `undefined` if there is no such call.
   */
  result(
    id: string,
    whose?: DurableOfWhom,
    options?: { readonly waitMs?: number; readonly signal?: AbortSignal },
  ): Promise<ToolResult | undefined>;
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
  /** What a link of a notification decides. `undefined` if there is no such link. Rejects as `decide` does. */
  byLink(token: string): Promise<LinkedCall | undefined>;
}
