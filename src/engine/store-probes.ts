import type { ProbedKey, RedisProbe } from "../store/redis/probe.ts";
import type { RedisListener } from "../store/redis/report.ts";
import type { Assembly } from "./assembly.ts";
import type { ResolvedOptions } from "./options.ts";

/** Time that an engine's start waits for what the probes find. */
const SETTLED_MS = 1_000;

/** Probes of an engine's stores in Redis: one for each URL. */
export class StoreProbes implements AsyncDisposable {
  readonly #probes: readonly RedisProbe[];

  private constructor(probes: readonly RedisProbe[]) {
    this.#probes = probes;
  }

  /** Loads nothing where no store is in Redis. */
  static async open(options: ResolvedOptions, { events, metrics }: Pick<Assembly, "events" | "metrics">) {
    const keys = keysOf(options);
    const byUrl = Map.groupBy(keys, ({ url }) => url);
    if (byUrl.size === 0) return new StoreProbes([]);
    metrics.redis.expect(keys.map(({ use }) => use));
    const listener: RedisListener = {
      onDown: (event) => events.emit("redis:down", event),
      onUp: (event) => events.emit("redis:up", event),
    };
    const { RedisProbe: Probe } = await import("../store/redis/probe.ts");
    return new StoreProbes([...byUrl].map(([url, keys]) => new Probe(url, keys, listener)));
  }

  /** Resolves when it is known whether the stores can be used, or after a second. */
  async settled(): Promise<void> {
    await Promise.all(this.#probes.map((probe) => probe.settled(SETTLED_MS)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#probes.map((probe) => probe[Symbol.asyncDispose]()));
  }
}

/** Keys that are probed, beside those that the stores have. */
function keysOf({ kv, idempotency, calls }: Pick<ResolvedOptions, "kv" | "idempotency" | "calls">) {
  const keys: (ProbedKey & { readonly url: string })[] = [];
  if ("url" in kv) keys.push({ use: "kv", url: kv.url, key: "glovebox:kv:{probe}" });
  if (idempotency.kind === "redis") {
    const { url, fleet } = idempotency;
    keys.push({ use: "idempotency", url, key: `{glovebox:${fleet}:ledger}:probe` });
  }
  if (calls !== null && "url" in calls.store) {
    const { url, fleet } = calls.store;
    keys.push({ use: "calls", url, key: `{glovebox:${fleet}:calls}:probe` });
  }
  return keys;
}
