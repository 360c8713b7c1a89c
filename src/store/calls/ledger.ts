import { setTimeout as delay } from "node:timers/promises";
import type { LedgerClaim, ToolFingerprint } from "../../base/ledger-claim.ts";

/** A holder that has not been seen for so long has ended, and what it had begun with it. */
export const HOLDER_LOST_MS = 10_000;
/** The largest result that is kept, as a part of what all may come to. */
export const RESULT_SHARE = 1 / 16;
/** What a call is said to cost besides its result. */
export const CALL_BYTES = 256;

/** What all that is kept may come to. */
export interface LedgerCapacity {
  readonly ttlMs: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** Where a ledger is. */
export type LedgerOptions = SqliteLedgerOptions | RedisLedgerOptions;

export interface SqliteLedgerOptions extends LedgerCapacity {
  readonly kind: "sqlite";
  /** An absolute path, or `:memory:`. */
  readonly path: string;
}

export interface RedisLedgerOptions extends LedgerCapacity {
  readonly kind: "redis";
  readonly url: string;
  /** Whose ledger it is, of several in one Redis. */
  readonly fleet: string;
  /** What its users share to keep results from whoever else reads Redis. */
  readonly secret: string | undefined;
}

/** A call with a key, as the ledger knows it: by digests. */
export interface KeyedCall {
  /** Of its tenant, its tool and its key. */
  readonly digest: Uint8Array;
  readonly tenant: Uint8Array;
  /** Of what is asked for. */
  readonly asked: Uint8Array;
  /** Whether it may be done twice, if nobody knows how often it was. */
  readonly mayRepeat: boolean;
}

/** What is known of a call's key. */
export type ClaimResult =
  /** Nothing: it is the holder's to run. */
  | { readonly kind: "mine" }
  /** How it ended, as JSON. */
  | { readonly kind: "kept"; readonly result: string }
  /** It ended on another machine after its holder was lost: what that machine left, for whoever can make a result of it. */
  | { readonly kind: "left"; readonly end: string }
  /** Another holder runs it. */
  | { readonly kind: "running" }
  /** The key was used for something else. */
  | { readonly kind: "conflict" }
  /** It began, and its holder has ended before it did; or it has ended, and there was no room for its result. */
  | { readonly kind: "unknown"; readonly hasEnded: boolean };

/**
 * Which calls with keys there have been, and how they ended. Several processes may have one in common: each call has one
 * holder, which says how it ended. Every method rejects with a `StoreError` where the store cannot do it.
 */
export interface CallLedger {
  /**
   * What is known of a call. Waits while another process runs it, for as long as the call may wait, and not for ever:
   * then it is `running`. What is `mine` is to be settled or released.
   */
  claim(call: KeyedCall, signal: AbortSignal, waitMs?: number): Promise<ClaimResult>;
  /** Keeps how a call ended, as JSON; `null` where it cannot be written. */
  settle(call: KeyedCall, result: string | null): Promise<void>;
  /** Forgets a call that did not come to be. */
  release(call: KeyedCall): Promise<void>;
  /** Of a call that is ours to run; `null` where no other machine may say how it ended. */
  ticketOf(call: KeyedCall, tool: ToolFingerprint): LedgerClaim | null;
  /** Nothing is to be claimed any more; what is not settled by now never will be. */
  close(): Promise<void>;
}

/** How long a call of another process is waited for, and how often it is looked at meanwhile. */
const PATIENCE_MS = 15_000;
const LOOK_MAX_MS = 500;
/** Calls that may wait for other processes at once. */
const WAITING_MAX = 1_000;

/** Waits for calls that other processes run. */
export class ClaimWaiter {
  readonly #lookFirstMs: number;
  #waiting = 0;

  constructor(lookFirstMs: number) {
    this.#lookFirstMs = lookFirstMs;
  }

  /** Looks again and again at what is `running`, for `waitMs` at most, and not for ever. */
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

/** How often a process says that it is there, while it has calls. */
const SEEN_EVERY_MS = 2_000;

/** Says of a holder that it is there, as long as it has begun what has not ended. */
export class HolderHeartbeat {
  readonly #see: () => Promise<void>;
  #begun = 0;
  #seeing: NodeJS.Timeout | undefined;

  constructor(see: () => Promise<void>) {
    this.#see = see;
  }

  /** Whether it has ever begun anything. */
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
      // Whoever uses the store next is told; the next time may go well.
    }
  }
}
