/** Maximum numbers of places that are taken. */
export interface PlaceLimits {
  readonly ofTenant: number;
  /** Of all tenants. Default: no limit. */
  readonly all?: number;
}

/** Counts work in progress by tenant: a tenant without a free place is refused, instead of waiting. */
export class TenantPlaces {
  readonly #limits: PlaceLimits;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Takes a place until it is disposed of; `null` if none is free. */
  take(tenant: string): Disposable | null {
    const { ofTenant, all = Number.POSITIVE_INFINITY } = this.#limits;
    const own = this.#taken.get(tenant) ?? 0;
    if (own >= ofTenant || this.#all >= all) return null;
    this.#taken.set(tenant, own + 1);
    this.#all++;
    return { [Symbol.dispose]: () => this.#leave(tenant) };
  }

  #leave(tenant: string): void {
    const left = (this.#taken.get(tenant) ?? 0) - 1;
    if (left > 0) this.#taken.set(tenant, left);
    else this.#taken.delete(tenant);
    this.#all--;
  }
}
