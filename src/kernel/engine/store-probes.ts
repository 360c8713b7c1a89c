import type { RedisListener, StoreUse } from "../store/outage.ts";
import type { PluginStore, StoreFactory, StoreProbe } from "../store/store-factory.ts";
import type { Assembly } from "./assembly.ts";
import type { ResolvedOptions } from "./options.ts";

/** Maximum wait of an engine's start for the findings of the probes. */
const SETTLED_MS = 1_000;

/** Probes of an engine's stores from plugins. */
export class StoreProbes implements AsyncDisposable {
  readonly #probes: readonly StoreProbe[];

  private constructor(probes: readonly StoreProbe[]) {
    this.#probes = probes;
  }

  /** Loads nothing if all stores are files. */
  static async open(options: ResolvedOptions, { events, metrics }: Pick<Assembly, "events" | "metrics">) {
    const stores = storesOf(options);
    if (stores.length === 0) return new StoreProbes([]);
    metrics.redis.expect(stores.map(({ use }) => use));
    const listener: RedisListener = {
      onDown: (event) => events.emit("redis:down", event),
      onUp: (event) => events.emit("redis:up", event),
    };
    const byOpener = Map.groupBy(stores, ({ factory }) => factory.openProbes);
    const opening = [...byOpener].map(([open, stores]) => open?.(stores, listener) ?? Promise.resolve([]));
    return new StoreProbes((await Promise.all(opening)).flat());
  }

  /** Resolves when it is known whether the stores can be used, or after a second. */
  async settled(): Promise<void> {
    await Promise.all(this.#probes.map((probe) => probe.settled(SETTLED_MS)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#probes.map((probe) => probe[Symbol.asyncDispose]()));
  }
}

/** Stores of plugins that can be watched. */
function storesOf({ kv, idempotency, calls }: Pick<ResolvedOptions, "kv" | "idempotency" | "calls">) {
  const found: (PluginStore<StoreFactory> & { readonly use: StoreUse })[] = [];
  if ("factory" in kv) found.push({ use: "kv", ...kv });
  if ("factory" in idempotency) found.push({ use: "idempotency", ...idempotency });
  if (calls !== null && "factory" in calls.place) found.push({ use: "calls", ...calls.place });
  return found.filter(({ factory }) => factory.openProbes !== undefined);
}
