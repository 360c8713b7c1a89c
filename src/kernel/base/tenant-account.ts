import type { WorkPayer } from "./host-work-queue.ts";

/** Bytes that the host holds, or may hold at most, for a tenant or for all. */
export interface HeldBytes {
  /** Journals: capability calls and their answers. */
  readonly journalBytes: number;
  /** Arguments of capability calls in progress. */
  readonly inFlightBytes: number;
}

/** The host's work for a tenant, or for all. Lengths in UTF-16 units of JSON, times in milliseconds. */
export interface HostUsage extends HeldBytes {
  /** Arguments of calls, if those of a call are longer than 4 KiB. */
  readonly bytesGiven: number;
  /** Capability calls. */
  readonly asks: number;
  /** Arguments and responses of capability calls. */
  readonly bytesAsked: number;
  readonly bytesAnswered: number;
  /** Requests to `kv` that have waited for Redis to be back. */
  readonly storeWaits: number;
  /** Processor time of tool code. */
  readonly executorMs: number;
  /** Time of the host's main thread for capability calls. */
  readonly mainMs: number;
  /** Time of the host's broker thread, which executes most of them. */
  readonly brokerMs: number;
}

/** Work and bytes of a thread for a call since its last report. */
export type HostDelta = Pick<
  HostUsage,
  "asks" | "bytesAsked" | "bytesAnswered" | "storeWaits" | "brokerMs" | "journalBytes" | "inFlightBytes"
>;

const MIB = 1024 * 1024;
export const TENANT_HELD: HeldBytes = { journalBytes: 32 * MIB, inFlightBytes: 32 * MIB };
export const ENGINE_HELD: HeldBytes = { journalBytes: 256 * MIB, inFlightBytes: 128 * MIB };
/** The last quarter of the engine's is for tenants that hold little: however many hold much, others find room. */
const RESERVED = 0.25;
const LITTLE = 1 / 256;

/**
 * Account of the host's work for one call, tenant, or engine. A charge goes up to all accounts that contain this one.
 * Counts decide outcomes; times are only reported and charged, because they differ from run to run.
 */
export class HostAccount implements HostUsage, WorkPayer {
  readonly tenant: string;
  bytesGiven = 0;
  asks = 0;
  bytesAsked = 0;
  bytesAnswered = 0;
  storeWaits = 0;
  executorMs = 0;
  mainMs = 0;
  brokerMs = 0;
  journalBytes = 0;
  inFlightBytes = 0;
  readonly #parent: HostAccount | null;
  readonly #limits: HeldBytes | null;

  /** `limits`: of a tenant, or of the engine. A call may hold as much as its tenant. */
  constructor(tenant: string, parent: HostAccount | null, limits: HeldBytes | null = null) {
    this.tenant = tenant;
    this.#parent = parent;
    this.#limits = limits;
  }

  countGiven(bytes: number): void {
    this.bytesGiven += bytes;
    this.#parent?.countGiven(bytes);
  }

  countAsk(bytes: number): void {
    this.asks++;
    this.bytesAsked += bytes;
    this.#parent?.countAsk(bytes);
  }

  countAnswer(bytes: number): void {
    this.bytesAnswered += bytes;
    this.#parent?.countAnswer(bytes);
  }

  countWait(): void {
    this.storeWaits++;
    this.#parent?.countWait();
  }

  spendMain(ms: number): void {
    this.mainMs += ms;
    this.#parent?.spendMain(ms);
  }

  spendBroker(ms: number): void {
    this.brokerMs += ms;
    this.#parent?.spendBroker(ms);
  }

  spendExecutor(ms: number): void {
    this.executorMs += ms;
    this.#parent?.spendExecutor(ms);
  }

  /**
   * Adds the work of another thread since its last report, and the bytes it holds. That thread enforces limits by its
   * own accounts.
   */
  receive(delta: HostDelta): void {
    this.asks += delta.asks;
    this.bytesAsked += delta.bytesAsked;
    this.bytesAnswered += delta.bytesAnswered;
    this.storeWaits += delta.storeWaits;
    this.brokerMs += delta.brokerMs;
    this.journalBytes += delta.journalBytes;
    this.inFlightBytes += delta.inFlightBytes;
    this.#parent?.receive(delta);
  }

  /** Time of the host's threads for capability calls. */
  get hostMs(): number {
    return this.mainMs + this.brokerMs;
  }

  /** Holds bytes in this account and all that contain it, or in none; returns whether all of them have room. */
  hold(kind: keyof HeldBytes, bytes: number): boolean {
    const heldBytes = this[kind] + bytes;
    const parent = this.#parent;
    if (this.#limits !== null) {
      if (heldBytes > this.#limits[kind]) return false;
      if (parent !== null && !parent.#isOpenTo(kind, bytes, heldBytes)) return false;
    }
    if (parent !== null && !parent.hold(kind, bytes)) return false;
    this[kind] = heldBytes;
    return true;
  }

  /** Whether there is room for bytes of a tenant that then holds `heldBytes`. */
  #isOpenTo(kind: keyof HeldBytes, bytes: number, heldBytes: number): boolean {
    const most = this.#limits?.[kind] ?? Number.POSITIVE_INFINITY;
    return this[kind] + bytes <= (heldBytes <= LITTLE * most ? most : (1 - RESERVED) * most);
  }

  /** Gives up bytes that `hold` has taken. */
  release(kind: keyof HeldBytes, bytes: number): void {
    this[kind] -= bytes;
    this.#parent?.release(kind, bytes);
  }

  get isHolding(): boolean {
    return this.journalBytes > 0 || this.inFlightBytes > 0;
  }

  usage(): HostUsage {
    const { bytesGiven, asks, bytesAsked, bytesAnswered, executorMs, mainMs, brokerMs } = this;
    const { journalBytes, inFlightBytes, storeWaits } = this;
    const done = { bytesGiven, asks, bytesAsked, bytesAnswered, storeWaits };
    return { ...done, executorMs, mainMs, brokerMs, journalBytes, inFlightBytes };
  }
}

/** Maximum number of tenants with an account. */
const TENANTS_MAX = 10_000;
/** Idle time after which an account is forgotten. */
const IDLE_MS = 3_600_000;
const SWEEP_EVERY_MS = 600_000;

interface KnownTenant {
  readonly account: HostAccount;
  /** Charges at the last sweep, and the time of their last change. */
  charged: number;
  idleSinceMs: number;
}

/**
 * Accounts of an engine's tenants, in `total`. A tenant's account is made with its first call, and forgotten when it
 * holds nothing and has been idle for an hour, or earlier if more than `TENANTS_MAX` tenants call. All tenants are of
 * one trust group; with several groups, an account of each group would be between theirs and `total`.
 */
export class TenantAccounts {
  readonly total = new HostAccount("", null, ENGINE_HELD);
  readonly #tenants = new Map<string, KnownTenant>();
  readonly #now: () => number;
  #sweptMs: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#sweptMs = now();
  }

  get size(): number {
    return this.#tenants.size;
  }

  /** The tenant's account, which is made if it has none. */
  of(tenant: string): HostAccount {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known.account;
    const nowMs = this.#now();
    if (nowMs - this.#sweptMs >= SWEEP_EVERY_MS) this.#sweep(nowMs);
    if (this.#tenants.size >= TENANTS_MAX) this.#makeRoom();
    const account = new HostAccount(tenant, this.total, TENANT_HELD);
    this.#tenants.set(tenant, { account, charged: 0, idleSinceMs: nowMs });
    return account;
  }

  /** The tenant's account; `undefined` if it has none. */
  find(tenant: string): HostAccount | undefined {
    return this.#tenants.get(tenant)?.account;
  }

  *all(): Iterable<HostAccount> {
    for (const { account } of this.#tenants.values()) yield account;
  }

  /** Forgets accounts that hold nothing and have had no charge for an hour. */
  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    for (const [tenant, known] of this.#tenants) {
      const { bytesGiven, asks, executorMs, hostMs, isHolding } = known.account;
      const charged = bytesGiven + asks + executorMs + hostMs;
      if (charged !== known.charged || isHolding) {
        known.charged = charged;
        known.idleSinceMs = nowMs;
      } else if (nowMs - known.idleSinceMs >= IDLE_MS) this.#tenants.delete(tenant);
    }
  }

  /** Forgets the oldest account that holds nothing. There is one: fewer calls run at once than tenants are kept. */
  #makeRoom(): void {
    for (const [tenant, { account }] of this.#tenants) {
      if (account.isHolding) continue;
      this.#tenants.delete(tenant);
      return;
    }
  }
}
