import { setTimeout as delay } from "node:timers/promises";
import type { LedgerClaim, ToolFingerprint } from "../../base/ledger-claim.ts";

/** A holder without a heartbeat for this time is lost, and its running calls with it. */
export const HOLDER_LOST_MS = 10_000;
/** Maximum size of a result, as a share of `maxBytes`. */
export const RESULT_SHARE = 1 / 16;
/** Bytes that a call counts for besides its result. */
export const CALL_BYTES = 256;

/** Limits on the kept calls. */
export interface LedgerCapacity {
  readonly ttlMs: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
}

export const DEFAULT_KEYS: LedgerCapacity = { ttlMs: 10 * 60 * 1_000, maxEntries: 10_000, maxBytes: 64 * 1024 ** 2 };

/** Message of `doubted` claims. Without a path, because every caller may read it. */
export const DOUBTED =
  "the store of idempotency keys was damaged and begun anew: until what it had would have expired, it is unknown whether the call with a key has run";

/** One operation of a holder on a call, or a report about itself. */
export type LedgerStep =
  | { readonly kind: "claim" | "release"; readonly call: KeyedCall; readonly holder: string }
  /** `result`: as JSON; `null` if it cannot be written. */
  | { readonly kind: "settle"; readonly call: KeyedCall; readonly holder: string; readonly result: string | null }
  /** `see` is a heartbeat. A holder that leaves loses the calls that it has begun and not settled. */
  | { readonly kind: "see" | "leave"; readonly holder: string };

/** State of a call that was claimed; `null` for other steps. */
export type LedgerAnswer = ClaimResult | null;

/** Takes steps of one ledger in their order. Rejects with a `StoreError`. */
export type TakeStep = (step: LedgerStep) => LedgerAnswer | Promise<LedgerAnswer>;

/** A call with an idempotency key, identified by digests. */
export interface KeyedCall {
  /** Digest of its tenant, tool and key. */
  readonly digest: Uint8Array;
  readonly tenant: Uint8Array;
  /** Digest of the request. */
  readonly asked: Uint8Array;
  /** Whether the call may run again if it is unknown whether it has run. */
  readonly mayRepeat: boolean;
}

/** State of a call in the ledger. */
export type ClaimResult =
  /** Unknown, and now claimed: the holder may run it. */
  | { readonly kind: "mine" }
  /** Ended, with its result as JSON. */
  | { readonly kind: "kept"; readonly result: string }
  /** Ended on another machine after the loss of its holder, with that machine's data from which to make a result. */
  | { readonly kind: "left"; readonly end: string }
  /** Another holder runs it. */
  | { readonly kind: "running" }
  /** The key was used for another request. */
  | { readonly kind: "conflict" }
  /** Begun, but its holder was lost before the end; or ended, but its result was not kept for lack of room. */
  | { readonly kind: "unknown"; readonly hasEnded: boolean }
  /** The file that may have contained it was damaged and moved aside. */
  | { readonly kind: "doubted" };

/**
 * Calls with idempotency keys and their results. Several processes may share a ledger: each call has one holder, which
 * records its result. Methods reject with a `StoreError` where the store fails.
 */
export interface CallLedger {
  /** The reason for which calls with an unknown key are refused now; `null` if they are not. */
  readonly problem: string | null;
  /**
   * Claims a call. While another process runs it, waits as long as the call may wait, up to a maximum, and then returns
   * `running`. A claim that is `mine` must be settled or released.
   */
  claim(call: KeyedCall, signal: AbortSignal, waitMs?: number): Promise<ClaimResult>;
  /** Records the result of a call, as JSON; `null` if it cannot be written. */
  settle(call: KeyedCall, result: string | null): Promise<void>;
  /** Forgets a call that was not run. */
  release(call: KeyedCall): Promise<void>;
  /** The claim of a call of this process, for another machine; `null` if no other machine may record its result. */
  claimOf(call: KeyedCall, tool: ToolFingerprint): LedgerClaim | null;
  /** Closes the ledger. Claims not settled by now never will be. */
  close(): Promise<void>;
}

/** Maximum wait for a call of another process, and maximum interval between looks. */
const PATIENCE_MS = 15_000;
const LOOK_MAX_MS = 500;
/** Maximum number of calls that wait for other processes at once. */
const WAITING_MAX = 1_000;

/** Waits for calls that other processes run. */
export class ClaimWaiter {
  readonly #lookFirstMs: number;
  #waiting = 0;

  constructor(lookFirstMs: number) {
    this.#lookFirstMs = lookFirstMs;
  }

  /** Polls a call while it is `running`, for `waitMs` or `PATIENCE_MS`, whichever is shorter. */
  async wait(look: () => Promise<ClaimResult>, signal: AbortSignal, waitMs = PATIENCE_MS): Promise<ClaimResult> {
    const first = await look();
    if (first.kind !== "running" || this.#waiting >= WAITING_MAX) return first;
    this.#waiting++;
    try {
      return await this.#lookOn(look, signal, waitMs < PATIENCE_MS ? waitMs : PATIENCE_MS);
    } finally {
      this.#waiting--;
    }
  }

  async #lookOn(look: () => Promise<ClaimResult>, signal: AbortSignal, waitMs: number): Promise<ClaimResult> {
    const untilMs = performance.now() + waitMs;
    for (let pauseMs = this.#lookFirstMs; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      await delay(pauseMs);
      const claim = await look();
      if (claim.kind !== "running" || signal.aborted || performance.now() > untilMs) return claim;
    }
  }
}

/** Interval of a process's heartbeat, while it holds running calls. */
const SEEN_EVERY_MS = 2_000;

/** Sends heartbeats of a holder while it has running calls. */
export class HolderHeartbeat {
  readonly #see: () => Promise<void>;
  #begun = 0;
  #seeing: NodeJS.Timeout | undefined;

  constructor(see: () => Promise<void>) {
    this.#see = see;
  }

  /** Whether the holder has ever begun a call. */
  get isKnown(): boolean {
    return this.#seeing !== undefined;
  }

  begin(): void {
    this.#begun++;
    this.#seeing ??= setInterval(() => void this.#beat(), SEEN_EVERY_MS).unref();
  }

  end(): void {
    this.#begun--;
  }

  close(): void {
    clearInterval(this.#seeing);
  }

  async #beat(): Promise<void> {
    if (this.#begun === 0) return;
    try {
      await this.#see();
    } catch {
      // The next user of the store gets the error; the next heartbeat may succeed.
    }
  }
}
