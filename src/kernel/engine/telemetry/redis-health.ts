import type { Gauge as GaugeType } from "prom-client";
import { Gauge, type Registry } from "../../base/prometheus.ts";
import type { RedisDown, RedisUse } from "../../store/outage.ts";
import type { Events } from "./events.ts";

/** The uses of Redis that are not possible now. */
export class RedisHealth {
  readonly #down = new Map<RedisUse, RedisDown>();
  readonly #gauge: GaugeType<"use">;

  constructor(events: Events, registry: Registry) {
    this.#gauge = new Gauge({
      name: "glovebox_redis_up",
      help: "1 if Redis can be used for kv, idempotency, calls or fleet, else 0. Only for those that are in Redis.",
      labelNames: ["use"],
      registers: [registry],
    });
    events.on("redis:down", (event) => this.#set(event.uses, event));
    events.on("redis:up", ({ uses }) => this.#set(uses, null));
  }

  /** Shows uses without a report so far. */
  expect(uses: readonly RedisUse[]): void {
    for (const use of uses) if (!this.#down.has(use)) this.#gauge.set({ use }, 1);
  }

  /** Each outage once. */
  get problems(): readonly RedisDown[] {
    return [...new Set(this.#down.values())];
  }

  #set(uses: readonly RedisUse[], event: RedisDown | null): void {
    for (const use of uses) {
      if (event === null) this.#down.delete(use);
      else this.#down.set(use, event);
      this.#gauge.set({ use }, event === null ? 1 : 0);
    }
  }
}
