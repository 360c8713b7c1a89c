import { Counter, Registry } from "prom-client";
import type { EmitExecutorEvent } from "../../kernel/executor/executor.ts";
import { ExecutorMetrics } from "../../kernel/executor/executor-metrics.ts";
import { registerInfo } from "../../kernel/base/info-metrics.ts";
import { gaugesOf } from "../../kernel/base/prometheus.ts";
import type { MachineStats } from "./machine-stats.ts";

/** Prometheus metrics of one worker machine. Those of its executor have the same names as in an engine. */
export class MachineMetrics {
  readonly registry: Registry;
  readonly emit: EmitExecutorEvent;
  readonly #jobs: Counter;
  readonly #calls: Counter;

  constructor(stats: () => MachineStats, registry = new Registry()) {
    this.registry = registry;
    registerInfo(registry);
    this.emit = new ExecutorMetrics(registry, () => stats().executor).record;
    const gauge = gaugesOf(registry, stats);
    gauge("machine_slots", "Maximum number of jobs that run at once.", ({ slots }) => slots);
    gauge(
      "machine_busy_slots",
      "Jobs that run, without those waiting for a response of their server.",
      ({ busySlots }) => busySlots,
    );
    gauge("machine_calls_in_flight", "Calls on this worker machine.", ({ calls }) => calls);
    gauge("machine_redis_up", "1 if Redis is reached and refuses no commands, else 0.", ({ isRedisUp }) =>
      Number(isRedisUp),
    );
    const counter = (name: string, help: string) =>
      new Counter({ name: `glovebox_${name}`, help, registers: [registry] });
    this.#jobs = counter("machine_jobs_total", "Jobs taken from the queue.");
    this.#calls = counter("machine_calls_total", "Calls in the jobs taken from the queue.");
  }

  recordJob(calls: number): void {
    this.#jobs.inc();
    this.#calls.inc(calls);
  }
}
