import type { Gauge as GaugeType } from "prom-client";
import { Counter, Gauge, type Registry } from "../../base/prometheus.ts";
import type { CallStoreStatus } from "../../store/calls/call-store.ts";

/** Metrics of the store of calls, which counts itself. */
export function registerCallMetrics(registry: Registry, store: { status(): CallStoreStatus }): void {
  const registers = [registry];
  const kept = new Counter({
    name: "glovebox_calls_kept_total",
    help: "Ended calls that the store of calls has written.",
    registers,
    collect: () => {
      kept.reset();
      kept.inc(store.status().kept);
    },
  });
  const dropped = new Counter({
    name: "glovebox_calls_dropped_total",
    help: "Ended calls that the store of calls has not written, by reason.",
    labelNames: ["reason"],
    registers,
    collect: () => {
      dropped.reset();
      for (const [reason, calls] of Object.entries(store.status().dropped)) dropped.inc({ reason }, calls);
    },
  });
  const up: GaugeType = new Gauge({
    name: "glovebox_calls_store_up",
    help: "Whether the store of calls can be used: 1 or 0.",
    registers,
    collect: () => {
      up.set(store.status().problem === null ? 1 : 0);
    },
  });
  const bytes: GaugeType = new Gauge({
    name: "glovebox_calls_store_bytes",
    help: "Size of the store of calls without free space, in bytes.",
    registers,
    collect: () => {
      bytes.set(store.status().bytes);
    },
  });
}
