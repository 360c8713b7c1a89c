import { randomUUID } from "node:crypto";
import type { RedisConnection } from "../redis/connection.ts";
import { Seal, SealError } from "../../kernel/store/seal.ts";
import { StoreError } from "../../kernel/base/errors.ts";
import type { LedgerClaim, ToolFingerprint } from "../../kernel/base/ledger-claim.ts";
import {
  type CallLedger,
  type ClaimResult,
  type KeyedCall,
  ClaimWaiter,
  HolderHeartbeat,
  type LedgerCapacity,
} from "../../kernel/store/calls/ledger.ts";
import type { RedisCalls } from "./redis-calls.ts";

/** First interval between looks. Longer than for a file, because many machines poll one Redis. */
const LOOK_FIRST_MS = 50;

/** Place of a ledger in Redis. */
export interface LedgerAddress {
  readonly url: string;
  /** Name of the ledger, among several in one Redis. */
  readonly fleet: string;
  /** Secret shared by the ledger's users; encrypts results against other readers of Redis. */
  readonly secret: string | undefined;
}

export interface RedisLedgerOptions extends LedgerAddress, LedgerCapacity {}

interface OpenLedger {
  readonly connection: RedisConnection;
  readonly calls: RedisCalls;
}

type HeldClaim = Pick<LedgerClaim, "digest" | "holder">;

/** A ledger in Redis, shared by engines on several machines. */
export class RedisLedger implements CallLedger {
  readonly problem = null;
  readonly #options: RedisLedgerOptions;
  readonly #seal: Seal;
  /** Id of this process; its claims are numbered. */
  readonly #owner = randomUUID();
  #claims = 0;
  /** Holders of the calls held by this process, by digest. */
  readonly #holders = new Map<string, string>();
  readonly #patience = new ClaimWaiter(LOOK_FIRST_MS);
  readonly #presence = new HolderHeartbeat(async () => {
    const { calls } = await this.#open();
    await calls.see(this.#owner);
    await calls.sweep();
  });
  #opening: Promise<OpenLedger> | null = null;
  #isClosed = false;

  constructor(options: RedisLedgerOptions) {
    this.#options = options;
    this.#seal = Seal.of(options.secret);
  }

  claim(call: KeyedCall, signal: AbortSignal, waitMs?: number): Promise<ClaimResult> {
    return this.#patience.wait(() => this.#claim(call), signal, waitMs);
  }

  async settle(call: KeyedCall, result: string | null): Promise<void> {
    const { digest, holder } = this.#take(call);
    await (await this.#open()).calls.settle(digest, holder, result);
  }

  async release(call: KeyedCall): Promise<void> {
    const { digest, holder } = this.#take(call);
    await (await this.#open()).calls.release(digest, holder);
  }

  claimOf(call: KeyedCall, { mark, isConfidential }: ToolFingerprint): LedgerClaim | null {
    const held = this.#heldOf(call);
    if (held === null || (isConfidential && !this.#seal.isSecret)) return null;
    return { ...held, tool: this.#seal.close(mark, held.digest) };
  }

  /** Mark of the claim's tool; `null` if the claim was made with another secret. */
  markOf({ tool, digest }: LedgerClaim): string | null {
    try {
      return this.#seal.open(tool, digest);
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      return null;
    }
  }

  /**
   * Records the end of a call in place of its lost holder, for the next caller with its key. Returns `false`, without
   * effect, if the holder no longer holds the call.
   */
  async leave({ digest, holder }: LedgerClaim, end: string): Promise<boolean> {
    return (await this.#open()).calls.leaveEnd(digest, holder, end);
  }

  /** Forgets a call in place of its lost holder: it was not run. */
  async releaseFor({ digest, holder }: LedgerClaim): Promise<void> {
    await (await this.#open()).calls.release(digest, holder);
  }

  /**
   * Registers for a few seconds that this process continues a call whose holder is lost: callers with its key wait.
   * Returns `false` if the holder no longer holds the call.
   */
  async carry({ digest, holder }: LedgerClaim): Promise<boolean> {
    return (await this.#open()).calls.carry(digest, holder, this.#owner);
  }

  /** Undoes `carry`. */
  async putDown({ digest, holder }: LedgerClaim): Promise<void> {
    await (await this.#open()).calls.putDown(digest, holder, this.#owner);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#presence.close();
    if (this.#opening === null) return;
    const { connection, calls } = await this.#opening;
    // Without this message, the missing heartbeat shows the end of this process later.
    if (connection.isReady) await calls.leave(this.#owner).catch(() => undefined);
    await connection.close();
  }

  async #claim(call: KeyedCall): Promise<ClaimResult> {
    const { calls } = await this.#open();
    const holder = `${this.#owner}:${++this.#claims}`;
    const claim = await calls.claim(call, holder);
    if (claim.kind === "mine") {
      this.#holders.set(Buffer.from(call.digest).toString("hex"), holder);
      this.#presence.begin();
    }
    return claim;
  }

  /** Removes a call from those held by this process. */
  #take(call: KeyedCall): HeldClaim {
    const held = this.#heldOf(call);
    if (held === null) throw new StoreError("this process does not hold the call");
    this.#holders.delete(held.digest);
    this.#presence.end();
    return held;
  }

  #heldOf(call: KeyedCall): HeldClaim | null {
    const digest = Buffer.from(call.digest).toString("hex");
    const holder = this.#holders.get(digest);
    return holder === undefined ? null : { digest, holder };
  }

  async #open(): Promise<OpenLedger> {
    if (this.#isClosed) throw new StoreError("the engine has closed");
    this.#opening ??= this.#connect();
    return this.#opening;
  }

  async #connect(): Promise<OpenLedger> {
    // Loaded lazily, because most engines do not use Redis.
    const [{ RedisConnection }, { RedisCalls }] = await Promise.all([
      import("../redis/connection.ts"),
      import("./redis-calls.ts"),
    ]);
    const { url, fleet, ...room } = this.#options;
    const connection = RedisConnection.open(url, "glovebox-ledger");
    return { connection, calls: new RedisCalls(connection, { fleet, room, seal: this.#seal }) };
  }
}
