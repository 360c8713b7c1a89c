import { type OrphanResult, writeOrphan } from "../../kernel/executor/orphan-result.ts";
import type { RedisLedger } from "../ledger/redis-ledger.ts";
import type { LedgerClaim } from "../../kernel/base/ledger-claim.ts";
import type { FleetTimings } from "../wire/fleet-timings.ts";
import type { MachineLogger } from "./machine-log.ts";

/** Maximum number of kept calls, and maximum total size of their results. */
const KEPT_MAX = 100_000;
const ENDS_MAX_BYTES = 64 * 1024 * 1024;

/** The end of a call, for a server that repeats it after its own server is lost. */
export type CallEnd =
  | { readonly kind: "left"; readonly left: OrphanResult }
  /** The call had no effects: it may run as if for the first time. */
  | { readonly kind: "undone" };

/** A call with a key on this machine, until its server has received its result. */
export interface KeptCall {
  readonly server: string;
  readonly claim: LedgerClaim;
  /** Fingerprint of its tool. */
  readonly mark: string;
}

interface KeptState extends KeptCall {
  isServerGone: boolean;
  /** Whether another holder owns the claim now. */
  isOver: boolean;
  isCarried: boolean;
  isCarrying: boolean;
  end: { readonly what: CallEnd; readonly ms: number; readonly bytes: number } | null;
}

/**
 * Calls with keys in a shared ledger: if their server is lost, their results are stored there. A result sent just
 * before the loss may not have been received, so results are kept until the server has a later heartbeat.
 */
export class KeyedCalls {
  readonly #ledger: RedisLedger;
  readonly #logger: MachineLogger | undefined;
  /** Ended calls are in the order of their ends. */
  readonly #kept = new Map<KeptCall, KeptState>();
  /** A server with a heartbeat this long after a call's end has received the result. */
  readonly #acknowledgedMs: number;
  #endsBytes = 0;

  constructor(ledger: RedisLedger, logger: MachineLogger | undefined, { acknowledgedMs }: FleetTimings) {
    this.#ledger = ledger;
    this.#logger = logger;
    this.#acknowledgedMs = acknowledgedMs;
  }

  /** Servers to watch. */
  get servers(): Iterable<string> {
    return new Set(Array.from(this.#kept.values(), ({ server }) => server));
  }

  /**
   * Registers a call. Returns `null` if the call cannot be kept: its ledger has another secret, or there is no room.
   */
  begin(server: string, claim: LedgerClaim): KeptCall | null {
    const mark = this.#ledger.markOf(claim);
    this.#makeRoom(1);
    if (mark === null || this.#kept.size >= KEPT_MAX) return null;
    const call: KeptCall = { server, claim, mark };
    const state = { isServerGone: false, isOver: false, isCarried: false, isCarrying: false, end: null };
    this.#kept.set(call, { ...call, ...state });
    return call;
  }

  /** Records the result; `null` if only the call's server can report it, or already has. */
  end(call: KeptCall, what: CallEnd | null): void {
    const kept = this.#kept.get(call);
    if (kept === undefined) return;
    if (what === null) {
      this.#forget(call);
      if (kept.isCarried) this.#ledger.putDown(kept.claim).catch(() => undefined);
      return;
    }
    const bytes = sizeOf(what);
    this.#kept.delete(call);
    this.#kept.set(call, kept);
    kept.end = { what, ms: performance.now(), bytes };
    this.#endsBytes += bytes;
    if (kept.isServerGone) this.#storeResult(call, kept);
    else this.#makeRoom(0);
  }

  /** Releases the claim of a call that never started and whose server is lost. */
  release(claim: LedgerClaim): void {
    if (this.#ledger.markOf(claim) === null) return;
    this.#ledger.releaseFor(claim).catch((error: unknown) => this.#warn(error));
  }

  /** Updates the kept calls by `there`, those of the `servers` that have a heartbeat. */
  look(servers: readonly string[], there: ReadonlySet<string>): void {
    const nowMs = performance.now();
    const missing = new Set(servers.filter((server) => !there.has(server)));
    for (const [call, kept] of this.#kept) {
      if (missing.has(kept.server)) void this.#renewClaim(kept);
      else if (there.has(kept.server) && kept.end !== null && nowMs - kept.end.ms > this.#acknowledgedMs)
        this.#forget(call);
    }
  }

  /** The server is lost. Store results it has not acknowledged, and all later ones, for another server. */
  onGone(server: string): void {
    for (const [call, kept] of this.#kept) {
      if (kept.server !== server) continue;
      kept.isServerGone = true;
      if (kept.end !== null) this.#storeResult(call, kept);
    }
  }

  async close(): Promise<void> {
    this.#kept.clear();
    await this.#ledger.close();
  }

  /** Renews the claim, so that a repeated call waits for this one. */
  async #renewClaim(kept: KeptState): Promise<void> {
    if (kept.isCarrying || kept.isOver) return;
    kept.isCarrying = true;
    try {
      kept.isCarried = true;
      kept.isOver = !(await this.#ledger.carry(kept.claim));
    } catch {
      // The next look tries again.
    }
    kept.isCarrying = false;
  }

  #storeResult(call: KeptCall, kept: KeptState): void {
    const what = kept.end?.what;
    this.#forget(call);
    if (what?.kind === "undone") return this.release(kept.claim);
    if (what === undefined) return;
    this.#ledger.leave(kept.claim, writeOrphan(what.left)).then(
      (isLeft) => {
        if (isLeft) this.#logger?.info({ callId: what.left.callId }, "result of a lost server's call stored");
      },
      (error: unknown) => this.#warn(error),
    );
  }

  #forget(call: KeptCall): void {
    const kept = this.#kept.get(call);
    if (kept === undefined) return;
    this.#kept.delete(call);
    this.#endsBytes -= kept.end?.bytes ?? 0;
  }

  /** Servers are rarely lost, so the oldest result is the least likely to be needed. */
  #makeRoom(calls: number): void {
    for (const [call, { end }] of this.#kept) {
      if (this.#endsBytes <= ENDS_MAX_BYTES && this.#kept.size + calls <= KEPT_MAX) return;
      if (end !== null) this.#forget(call);
    }
  }

  #warn(error: unknown): void {
    const why = error instanceof Error ? error.message : "it cannot be told why";
    this.#logger?.warn({ why }, "result of a lost server's call could not be stored");
  }
}

function sizeOf(end: CallEnd): number {
  if (end.kind === "undone") return 0;
  const { outcome, logs } = end.left.reply;
  return logs.length + (outcome.ok ? outcome.json.length : JSON.stringify(outcome.failure).length);
}
