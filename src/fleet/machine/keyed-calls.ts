import { type OrphanResult, writeOrphan } from "../wire/orphan-result.ts";
import type { RedisLedger } from "../../store/calls/redis-ledger.ts";
import type { LedgerClaim } from "../../base/ledger-claim.ts";
import type { FleetTimings } from "../wire/fleet-timings.ts";
import type { MachineLogger } from "./machine-log.ts";

/** Calls that are kept, and what all of their ends may come to. */
const KEPT_MAX = 100_000;
const ENDS_MAX_BYTES = 64 * 1024 * 1024;

/** The end of a call, for a server that repeats it after its own server is lost. */
export type CallEnd =
  | { readonly kind: "left"; readonly left: OrphanResult }
  /** Nothing of it was done: it may be run as if it had never been. */
  | { readonly kind: "undone" };

/** A call with a key on this machine, until its server has heard how it ended. */
export interface KeptCall {
  readonly server: string;
  readonly ticket: LedgerClaim;
  /** Of its tool. */
  readonly mark: string;
}

interface KeptState extends KeptCall {
  isServerGone: boolean;
  /** Whether it is another's by now. */
  isOver: boolean;
  isCarried: boolean;
  isCarrying: boolean;
  end: { readonly what: CallEnd; readonly ms: number; readonly bytes: number } | null;
}

/**
 * Calls whose keys are in a ledger that others can reach: where their server is lost, what came of them is left there. An end that
 * was sent just before the server was lost was heard by nobody, so ends are held until the server was there after them.
 */
export class KeyedCalls {
  readonly #ledger: RedisLedger;
  readonly #logger: MachineLogger | undefined;
  /** Those that have ended stand in the order of their ends. */
  readonly #kept = new Map<KeptCall, KeptState>();
  /** A server that is there so long after a call's end has heard of it. */
  readonly #acknowledgedMs: number;
  #endsBytes = 0;

  constructor(ledger: RedisLedger, logger: MachineLogger | undefined, { acknowledgedMs }: FleetTimings) {
    this.#ledger = ledger;
    this.#logger = logger;
    this.#acknowledgedMs = acknowledgedMs;
  }

  /** Servers that are to be watched. */
  get servers(): Iterable<string> {
    return new Set(Array.from(this.#kept.values(), ({ server }) => server));
  }

  /** A call begins here. Answers `null` where nothing can be done for it: it is of a ledger with another secret. */
  begin(server: string, ticket: LedgerClaim): KeptCall | null {
    const mark = this.#ledger.markOf(ticket);
    this.#makeRoom(1);
    if (mark === null || this.#kept.size >= KEPT_MAX) return null;
    const call: KeptCall = { server, ticket, mark };
    const state = { isServerGone: false, isOver: false, isCarried: false, isCarrying: false, end: null };
    this.#kept.set(call, { ...call, ...state });
    return call;
  }

  /** How it ended; `null` where only its server can say that, or has said it. */
  end(call: KeptCall, what: CallEnd | null): void {
    const kept = this.#kept.get(call);
    if (kept === undefined) return;
    if (what === null) {
      this.#forget(call);
      if (kept.isCarried) this.#ledger.putDown(kept.ticket).catch(() => undefined);
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

  /** A call whose server is gone never began. */
  release(ticket: LedgerClaim): void {
    if (this.#ledger.markOf(ticket) === null) return;
    this.#ledger.releaseFor(ticket).catch((error: unknown) => this.#warn(error));
  }

  /** Which of the servers that were looked for are there. */
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
      kept.isOver = !(await this.#ledger.carry(kept.ticket));
    } catch {
      // It is tried again at once.
    }
    kept.isCarrying = false;
  }

  #storeResult(call: KeptCall, kept: KeptState): void {
    const what = kept.end?.what;
    this.#forget(call);
    if (what?.kind === "undone") return this.release(kept.ticket);
    if (what === undefined) return;
    this.#ledger.leave(kept.ticket, writeOrphan(what.left)).then(
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

  /** Servers are seldom lost, so what is held longest is the least likely to be needed. */
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
