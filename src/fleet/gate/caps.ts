import { hash } from "node:crypto";
import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import type { FleetKeys } from "../wire/keys.ts";

/** A call that requests a place in the fleet's queue. */
export interface AdmissionRequest {
  /** Unique for its server. */
  readonly id: string;
  readonly tenant: string;
  readonly tool: string;
  /** -10 to 10; higher is first. */
  readonly priority: number;
  /** Its share of a job: 1, or a fraction for a call that shares one. */
  readonly cost: number;
  /** Whether the call bypasses the caps. */
  readonly isFree?: boolean;
}

/** Maximum number of a tenant's and of a tool's calls in the whole fleet at once. */
export interface Caps {
  readonly perTenant: number;
  readonly perTool: number;
}

/** Bits for the two caps of a request. */
export const BY_TENANT = 1;
export const BY_TOOL = 2;

const NAME_CHARS = 22;
/** Maximum number of cached names: every call needs one, and a digest takes longer than the rest of its admission. */
const NAMES_MAX = 1_000;

/** A name of bounded length for any text: 132 bits of its SHA-256. */
export function shortName(text: string): string {
  return hash("sha256", text, "base64url").slice(0, NAME_CHARS);
}

/** A cap, from this server's side. */
export class Cap {
  readonly leases: string;
  readonly waits: string;
  readonly limit: number;
  /** Number of this server's requests under the cap: requested, leased or held. */
  users = 0;
  readonly leased = new Set<string>();
  readonly held = new Set<CapEntry>();
  /** Number of requests worth sending to Redis: unlimited until the cap holds one, then the reported room. */
  tries = Infinity;

  constructor(leases: string, waits: string, limit: number) {
    this.leases = leases;
    this.waits = waits;
    this.limit = limit;
  }

  /**
   * Start of the oldest held request's wait by Redis's clock, ignoring `others`. `now`: Redis has seen none of them
   * yet. `none`: no others are held.
   */
  waitsSince(others?: ReadonlySet<CapEntry>): number | "now" | "none" {
    let oldest: number | "now" | "none" = "none";
    for (const entry of this.held) {
      if (others?.has(entry) === true) continue;
      if (entry.sinceUs === null) oldest = oldest === "none" ? "now" : oldest;
      else oldest = typeof oldest === "number" ? Math.min(oldest, entry.sinceUs) : entry.sinceUs;
    }
    return oldest;
  }
}

/** A request that is sent, leased or held. */
export interface CapEntry {
  readonly request: AdmissionRequest;
  /** Its tenant's name in Redis. */
  readonly tenant: string;
  readonly ofTenant: Cap | null;
  readonly ofTool: Cap | null;
  isHeld: boolean;
  /** Caps that have held it, as bits. */
  heldBy: number;
  sinceUs: number | null;
}

/** All requests of this server that are sent, leased or held, and their caps. */
export class CapRegistry {
  readonly #caps = new Map<string, Cap>();
  readonly #entries = new Map<string, CapEntry>();
  readonly #keys: FleetKeys;
  readonly #limits: Caps;
  readonly #names = new BoundedCache<string>(NAMES_MAX);
  #held = 0;

  constructor(keys: FleetKeys, limits: Caps) {
    this.#keys = keys;
    this.#limits = limits;
  }

  get held(): number {
    return this.#held;
  }

  get ids(): readonly string[] {
    return [...this.#entries.keys()];
  }

  caps(): Iterable<Cap> {
    return this.#caps.values();
  }

  capOf(leases: string): Cap | undefined {
    return this.#caps.get(leases);
  }

  has(entry: CapEntry): boolean {
    return this.#entries.get(entry.request.id) === entry;
  }

  enter(request: AdmissionRequest): CapEntry {
    const known = this.#entries.get(request.id);
    if (known !== undefined) return known;
    const { perTenant, perTool } = this.#limits;
    const tenant = this.#nameOf(request.tenant);
    const isFree = request.isFree === true;
    const ofTenant = isFree || perTenant === Infinity ? null : this.#cap("tenant", tenant, perTenant);
    const ofTool = isFree || perTool === Infinity ? null : this.#cap("tool", this.#nameOf(request.tool), perTool);
    const entry = { request, tenant, ofTenant, ofTool, isHeld: false, heldBy: 0, sinceUs: null };
    this.#entries.set(request.id, entry);
    return entry;
  }

  /** Whether the request is worth sending: if so, it counts against its caps' tries; else it is held. */
  try(entry: CapEntry): boolean {
    const { ofTenant, ofTool } = entry;
    const full = (ofTenant?.tries === 0 ? BY_TENANT : 0) | (ofTool?.tries === 0 ? BY_TOOL : 0);
    if (full > 0) {
      this.hold(entry, full, null);
      return false;
    }
    if (ofTenant !== null) ofTenant.tries--;
    if (ofTool !== null) ofTool.tries--;
    return true;
  }

  hold(entry: CapEntry, by: number, sinceUs: number | null): void {
    if (!entry.isHeld) this.#held++;
    entry.isHeld = true;
    entry.heldBy |= by;
    entry.sinceUs ??= sinceUs;
    if ((by & BY_TENANT) !== 0) entry.ofTenant?.held.add(entry);
    if ((by & BY_TOOL) !== 0) entry.ofTool?.held.add(entry);
  }

  lease(entry: CapEntry): void {
    const caps = capsOf(entry);
    if (caps.length === 0) return void this.remove(entry.request.id);
    this.#letGo(entry);
    for (const cap of caps) cap.leased.add(entry.request.id);
  }

  /** Removes a request in any state. */
  remove(id: string): CapEntry | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#letGo(entry);
    this.#entries.delete(id);
    for (const cap of capsOf(entry)) {
      cap.leased.delete(id);
      if (--cap.users === 0) this.#caps.delete(cap.leases);
    }
    return entry;
  }

  #nameOf(text: string): string {
    return this.#names.getOrMake(text, () => shortName(text));
  }

  #letGo(entry: CapEntry): void {
    if (entry.isHeld) this.#held--;
    entry.isHeld = false;
    for (const cap of capsOf(entry)) {
      if (cap.held.delete(entry) && cap.held.size === 0) cap.tries = Infinity;
    }
  }

  #cap(kind: string, name: string, limit: number): Cap {
    const leases = this.#keys.of("gate", kind, name, "leases");
    let cap = this.#caps.get(leases);
    if (cap === undefined) {
      cap = new Cap(leases, this.#keys.of("gate", kind, name, "waits"), limit);
      this.#caps.set(leases, cap);
    }
    cap.users++;
    return cap;
  }
}

export function capsOf({ ofTenant, ofTool }: CapEntry): readonly Cap[] {
  return [ofTenant, ofTool].filter((cap) => cap !== null);
}
