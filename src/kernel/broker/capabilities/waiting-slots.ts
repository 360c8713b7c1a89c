/** Number of slots, and the maximum wait for one. */
export interface SlotOptions {
  readonly max: number;
  /** Slots that only tenants without a slot get: no tenant can take all. Default 0. */
  readonly reserved?: number;
  /** `null`: no limit. */
  readonly waitMs: number | null;
  /** Makes the error for a wait that took too long. */
  readonly late: () => Error;
}

/** Releases a slot; a second call does nothing. */
export type ReleaseSlot = () => void;

/** The slots that a tenant holds, and its callers that wait for one, in the order of their arrival. */
interface TenantSlots {
  readonly tenant: string;
  readonly waiting: Set<() => void>;
  held: number;
}

/** A bounded number of slots. A free one goes to the tenant with the fewest, and to its caller that waits longest. */
export class WaitingSlots {
  readonly #options: SlotOptions;
  /** Tenants that hold slots or wait for one; those that begin to wait are last. */
  readonly #tenants = new Map<string, TenantSlots>();
  #taken = 0;
  #idle = Promise.withResolvers<void>();

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** Takes a slot. Rejects when the wait takes too long, or with the signal's reason. */
  async enter(signal: AbortSignal, tenant = ""): Promise<ReleaseSlot> {
    signal.throwIfAborted();
    const slots = this.#slotsOf(tenant);
    if (slots.waiting.size === 0 && this.#hasRoom(slots)) this.#take(slots);
    else await this.#turn(slots, signal);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      slots.held--;
      this.#taken--;
      this.#forget(slots);
      this.#admit();
      if (this.#taken > 0) return;
      this.#idle.resolve();
      this.#idle = Promise.withResolvers<void>();
    };
  }

  /** Does work in a slot of its own, unless the signal was aborted before it got one. Rejects as `enter` does. */
  async run<T>(signal: AbortSignal, tenant: string | undefined, work: () => Promise<T>): Promise<T> {
    const release = await this.enter(signal, tenant);
    try {
      // The call may have ended just as it got the slot.
      signal.throwIfAborted();
      return await work();
    } finally {
      release();
    }
  }

  /** Resolves when no slot is taken. */
  async idle(): Promise<void> {
    if (this.#taken > 0) await this.#idle.promise;
  }

  #slotsOf(tenant: string): TenantSlots {
    let slots = this.#tenants.get(tenant);
    if (slots === undefined) this.#tenants.set(tenant, (slots = { tenant, waiting: new Set(), held: 0 }));
    return slots;
  }

  #hasRoom({ held }: TenantSlots): boolean {
    const { max, reserved = 0 } = this.#options;
    return this.#taken < (held === 0 ? max : max - reserved);
  }

  #take(slots: TenantSlots): void {
    slots.held++;
    this.#taken++;
  }

  /** Waits for a slot, which `#admit` takes. */
  #turn(slots: TenantSlots, signal: AbortSignal): Promise<void> {
    const { waitMs, late } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = () => {
      slots.waiting.delete(enter);
      this.#forget(slots);
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    const enter = () => {
      end();
      resolve();
    };
    const onAbort = () => {
      end();
      reject(signal.reason as Error);
    };
    const onLate = () => {
      end();
      reject(late());
    };
    const timer = waitMs === null ? undefined : setTimeout(onLate, waitMs);
    signal.addEventListener("abort", onAbort);
    slots.waiting.add(enter);
    return promise;
  }

  /** Gives free slots to those that wait. */
  #admit(): void {
    for (;;) {
      let next: TenantSlots | null = null;
      for (const slots of this.#tenants.values()) {
        if (slots.waiting.size > 0 && this.#hasRoom(slots) && (next === null || slots.held < next.held)) next = slots;
      }
      const [enter] = next?.waiting ?? [];
      if (next === null || enter === undefined) return;
      this.#take(next);
      // A tenant that has had its turn is behind the others that hold as many.
      this.#tenants.delete(next.tenant);
      this.#tenants.set(next.tenant, next);
      enter();
    }
  }

  /** Drops a tenant without slots and callers, so that memory does not grow with their number. */
  #forget({ tenant, held, waiting }: TenantSlots): void {
    if (held === 0 && waiting.size === 0) this.#tenants.delete(tenant);
  }
}
