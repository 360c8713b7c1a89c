import { Counter, gaugesOf, type Registry } from "../../base/prometheus.ts";
import type { CallStoreStatus } from "../../store/calls/call-store.ts";

/** Metrics of the store of calls, from its own counts. */
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
  const gauge = gaugesOf(registry, () => store.status());
  gauge("calls_store_up", "Whether the store of calls can be used: 1 or 0.", ({ problem }) => Number(problem === null));
  gauge("calls_store_bytes", "Size of the store of calls without free space, in bytes.", ({ bytes }) => bytes);
}
