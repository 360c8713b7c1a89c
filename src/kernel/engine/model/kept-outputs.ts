import type { ReadableText } from "../../base/reading/cut-text.ts";

/** Time for which an output is kept, and maximum memory of all outputs and of those of one tenant. */
export const KEPT_MS = 15 * 60_000;
const KEPT_BYTES = 64 * 1024 * 1024;
const TENANT_SHARE = 0.25;
/** Powers of two that a tenant's bytes may have. */
const SIZES = 32;
/** Minimum time between two looks at all tenants for expired outputs. */
const SWEEP_MS = 1_000;

/** The only reader of a kept output. */
export interface OutputOwner {
  readonly tenant: string;
  /** Name of the key with which the call was made; `null` if it was made without one. */
  readonly key: string | null;
}

/** The output of a call, for further reading. */
export interface KeptOutput extends ReadableText {
  readonly tool: string;
}

interface Place {
  readonly output: KeptOutput;
  readonly bytes: number;
  readonly untilMs: number;
}

/** Places of one tenant, oldest first. */
interface Shelf {
  bytes: number;
  /** The last number that was added to an id. It only grows, so that many outputs of one id need no loop. */
  lastNumber: number;
  readonly places: Map<string, Place>;
}

export interface KeptOutputsOptions {
  readonly bytes?: number;
  readonly now?: () => number;
}

/**
 * Long outputs of calls that a model may read further, for 15 minutes and within 64 MiB, of which a tenant has a
 * quarter. The oldest are removed first: those of a tenant beyond its quarter, else those of a tenant with the most
 * bytes, up to a factor of two.
 */
export class KeptOutputs implements Disposable {
  readonly #shelves = new Map<string, Shelf>();
  /** Tenants by the power of two of their bytes: finds a tenant with the most bytes without a look at all of them. */
  readonly #bySize: readonly Set<string>[] = Array.from({ length: SIZES }, () => new Set());
  #sweptMs = -Infinity;
  readonly #most: number;
  readonly #now: () => number;
  #bytes = 0;
  #sweeping: NodeJS.Timeout | null = null;

  constructor({ bytes = KEPT_BYTES, now = () => performance.now() }: KeptOutputsOptions = {}) {
    this.#most = bytes;
    this.#now = now;
  }

  /** Memory of all outputs. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Keeps an output. Returns the id by which it is found: that of its call, with a number if another output of its
   * owner has that id; `null` if it is too large to be kept.
   */
  keep(callId: string, output: KeptOutput, owner: OutputOwner): string | null {
    const { bytes } = output.text;
    const mostOfTenant = this.#most * TENANT_SHARE;
    if (bytes > mostOfTenant) return null;
    if (this.#now() - this.#sweptMs >= SWEEP_MS) this.#sweep();
    const shelf = this.#shelves.get(owner.tenant) ?? { bytes: 0, lastNumber: 1, places: new Map<string, Place>() };
    this.#shelves.set(owner.tenant, shelf);
    let id = callId;
    while (shelf.places.has(placeOf(id, owner))) id = `${callId}.${++shelf.lastNumber}`;
    shelf.places.set(placeOf(id, owner), { output, bytes, untilMs: this.#now() + KEPT_MS });
    this.#add(owner.tenant, shelf, bytes);
    while (shelf.bytes > mostOfTenant) this.#removeOldest(owner.tenant, shelf);
    while (this.#bytes > this.#most) this.#removeOldest(...this.#fullest());
    this.#sweeping ??= setInterval(() => this.#sweep(), KEPT_MS / 15).unref();
    return id;
  }

  find(id: string, owner: OutputOwner): KeptOutput | undefined {
    const place = this.#shelves.get(owner.tenant)?.places.get(placeOf(id, owner));
    return place !== undefined && place.untilMs > this.#now() ? place.output : undefined;
  }

  [Symbol.dispose](): void {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
    this.#shelves.clear();
    for (const tenants of this.#bySize) tenants.clear();
    this.#bytes = 0;
  }

  #sweep(): void {
    const nowMs = this.#now();
    this.#sweptMs = nowMs;
    for (const [tenant, shelf] of this.#shelves) {
      for (const { untilMs } of shelf.places.values()) {
        if (untilMs > nowMs) break;
        this.#removeOldest(tenant, shelf);
      }
    }
    if (this.#bytes > 0 || this.#sweeping === null) return;
    clearInterval(this.#sweeping);
    this.#sweeping = null;
  }

  #removeOldest(tenant: string, shelf: Shelf): void {
    for (const [name, { bytes }] of shelf.places) {
      shelf.places.delete(name);
      this.#add(tenant, shelf, -bytes);
      break;
    }
    if (shelf.places.size > 0) return;
    this.#shelves.delete(tenant);
    this.#bySize[sizeOf(shelf)]?.delete(tenant);
  }

  #add(tenant: string, shelf: Shelf, bytes: number): void {
    this.#bySize[sizeOf(shelf)]?.delete(tenant);
    shelf.bytes += bytes;
    this.#bytes += bytes;
    this.#bySize[sizeOf(shelf)]?.add(tenant);
  }

  /** A tenant with the most bytes, up to a factor of two. */
  #fullest(): readonly [tenant: string, shelf: Shelf] {
    const [tenant = ""] = this.#bySize.findLast(({ size }) => size > 0) ?? [];
    const shelf = this.#shelves.get(tenant);
    if (shelf === undefined) throw new Error("no output is kept");
    return [tenant, shelf];
  }
}

function sizeOf({ bytes }: Shelf): number {
  return bytes === 0 ? 0 : Math.floor(Math.log2(bytes));
}

function placeOf(id: string, { key }: OutputOwner): string {
  return JSON.stringify([key, id]);
}
