import { Counter, Gauge, type Registry } from "../base/prometheus.ts";
import { isPressed } from "../base/os/pressure.ts";
import { gaugesOf } from "../base/prometheus.ts";
import type { ExecutorStats, RecycleReason, RestartReason, EmitExecutorEvent } from "./executor.ts";

const RESTART_REASONS: readonly (RestartReason | RecycleReason)[] = [
  "overrun",
  "memory",
  "crash",
  "killed",
  "heartbeat",
  "protocol",
  "retired",
  "spawn",
  "age",
  "calls",
  "heap",
  "idle",
  "broker",
];

/** Prometheus metrics of an executor, in an engine and on a worker machine. They contain no tool names. */
export class ExecutorMetrics {
  readonly #starts: Counter<"ward">;
  readonly #restarts: Counter<"reason">;
  readonly #delays: Counter<"ward">;

  constructor(registry: Registry, stats: () => ExecutorStats) {
    const registers = [registry];
    const gauge = gaugesOf(registry, stats);
    gauge("executor_rss_bytes", "Resident memory of all executors.", ({ rssBytes }) => rssBytes);
    gauge("executor_ready", "Whether calls can run now.", ({ ready }) => Number(ready));
    gauge("executor_spare_ready", "Whether another process stands ready.", ({ spareReady }) => Number(spareReady));
    gauge("executor_sandboxed", "Whether executors run in the operating system's sandbox.", ({ sandbox }) =>
      Number(sandbox.kind !== "off"),
    );
    gauge("quarantined_tools", "Tools that run apart.", ({ quarantined }) => quarantined.length);
    new Gauge({
      name: "glovebox_host_pressure",
      help: "Whether the machine is short of a resource, where a service watches it.",
      labelNames: ["resource"],
      registers,
      collect() {
        for (const resource of ["cpu", "memory"] as const) this.set({ resource }, Number(isPressed(resource)));
      },
    });
    new Gauge({
      name: "glovebox_isolates",
      help: "Isolates by state.",
      labelNames: ["state"],
      registers,
      collect() {
        for (const [state, count] of Object.entries(stats().isolates)) this.set({ state }, count);
      },
    });
    new Counter({
      name: "glovebox_isolate_starts_total",
      help: "Isolates and contexts started.",
      labelNames: ["kind"],
      registers,
      collect() {
        this.reset();
        for (const [kind, count] of stats().starts) this.inc({ kind }, count);
      },
    });
    const counter = <Label extends string>(name: string, help: string, label: Label) =>
      new Counter({ name: `glovebox_${name}`, help, labelNames: [label], registers });
    this.#starts = counter("executor_starts_total", "Executor processes that went to work.", "ward");
    this.#restarts = counter("executor_restarts_total", "Executors that were lost or made room.", "reason");
    this.#delays = counter("executor_delays_total", "Executors whose start had to wait.", "ward");
    // A counter that first appears with its first count shows no increase to an alert.
    for (const reason of RESTART_REASONS) this.#restarts.inc({ reason }, 0);
  }

  readonly record: EmitExecutorEvent = (...told) => {
    switch (told[0]) {
      case "executor:start":
        return this.#starts.inc({ ward: told[1].ward });
      case "executor:lost":
      case "executor:recycle":
        return this.#restarts.inc({ reason: told[1].reason });
      case "executor:delay":
        return this.#delays.inc({ ward: told[1].ward });
      default:
        return undefined;
    }
  };
}
