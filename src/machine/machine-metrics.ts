import { Counter, Gauge, Registry } from "prom-client";
import type { ExecutorEvents, TellExecutorEvent } from "../executor/executor.ts";
import type { MachineStats } from "./machine-stats.ts";

/** Prometheus metrics of one worker machine. Those of its executor have the names that they have in an engine. */
export class MachineMetrics {
  readonly registry: Registry;
  readonly #jobs: Counter;
  readonly #calls: Counter;
  readonly #starts: Counter<"ward">;
  readonly #restarts: Counter<"reason">;

  constructor(stats: () => MachineStats, registry = new Registry()) {
    this.registry = registry;
    const registers = [registry];
    const gauge = (name: string, help: string, read: (now: MachineStats) => number) =>
      new Gauge({
        name: `glovebox_${name}`,
        help,
        registers,
        collect() {
          this.set(read(stats()));
        },
      });
    gauge("machine_slots", "Jobs that may run at once.", ({ slots }) => slots);
    gauge(
      "machine_busy_slots",
      "Jobs that run, without those that wait for their server.",
      ({ busySlots }) => busySlots,
    );
    gauge("machine_calls_in_flight", "Calls that the machine has.", ({ calls }) => calls);
    gauge("machine_redis_up", "Whether Redis is reached.", ({ isRedisUp }) => Number(isRedisUp));
    gauge("executor_rss_bytes", "Resident memory of all executors.", ({ executor }) => executor.rssBytes);
    gauge("executor_ready", "Whether calls can run now.", ({ executor }) => Number(executor.ready));
    gauge("executor_sandboxed", "Whether executors run in the operating system's sandbox.", ({ executor }) =>
      Number(executor.sandbox.kind !== "off"),
    );
    gauge("quarantined_tools", "Tools that run apart.", ({ executor }) => executor.quarantined.length);
    new Gauge({
      name: "glovebox_isolates",
      help: "Isolates by state.",
      labelNames: ["state"],
      registers,
      collect() {
        for (const [state, count] of Object.entries(stats().executor.isolates)) this.set({ state }, count);
      },
    });
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Counter({ name: `glovebox_${name}`, help, labelNames, registers });
    this.#jobs = counter("machine_jobs_total", "Jobs that were taken.", []);
    this.#calls = counter("machine_calls_total", "Calls that came with them.", []);
    this.#starts = counter("executor_starts_total", "Executor processes that went to work.", ["ward"]);
    this.#restarts = counter("executor_restarts_total", "Executors that were lost or made room.", ["reason"]);
  }

  readonly tell: TellExecutorEvent = (name, event) => {
    if (name === "executor:start") this.#starts.inc({ ward: (event as ExecutorEvents["executor:start"][0]).ward });
    if (name === "executor:lost" || name === "executor:recycle") {
      this.#restarts.inc({ reason: (event as ExecutorEvents["executor:lost"][0]).reason });
    }
  };

  noteJob(calls: number): void {
    this.#jobs.inc();
    this.#calls.inc(calls);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}
