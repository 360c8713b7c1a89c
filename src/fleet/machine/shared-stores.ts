import type { Capability } from "../../broker/capabilities/capability.ts";
import { BoundedCache } from "../../base/bounded-cache.ts";
import type { MachineLogger } from "./machine-log.ts";

/** A store that was emptied is another one until both sides have looked again: what is different for longer stays so. */
const SETTLED_MS = 10_000;
/** Stores of servers that are remembered because this machine has another one. */
const OTHERS_MAX = 100;

interface Other {
  readonly sinceMs: number;
  isTold: boolean;
}

/** Whether a machine keeps what tools store where the servers do. Where it has another store, that is logged once for each of theirs. */
export class SharedStores {
  readonly #logger: MachineLogger | undefined;
  readonly #others = new BoundedCache<Other>(OTHERS_MAX);

  constructor(logger: MachineLogger | undefined) {
    this.#logger = logger;
  }

  /** `store`: the server's for that capability, as far as it says one. */
  has({ name, storeId }: Capability, store: string | undefined): boolean {
    if (storeId === undefined) return true;
    const own = storeId();
    if (own === null || store === undefined) return false;
    if (own !== store) this.#note(name, store);
    else this.#others.delete(store);
    return own === store;
  }

  #note(capability: string, store: string): void {
    const nowMs = performance.now();
    const other = this.#others.getOrMake(store, () => ({ sinceMs: nowMs, isTold: false }));
    if (other.isTold || nowMs - other.sinceMs < SETTLED_MS) return;
    other.isTold = true;
    const why = `a server has another store for ${capability} than this machine, which may be said by ${capability}.url, or it was emptied`;
    this.#logger?.warn({ why }, `${capability} is left to servers that keep it in another store`);
  }
}
