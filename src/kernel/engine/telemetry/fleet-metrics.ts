import { Counter, type Registry } from "../../base/prometheus.ts";
import type { Events } from "./events.ts";
import type { FleetStats } from "../../executor/fleet-state.ts";
import { gaugesOf } from "../../base/prometheus.ts";
import { registerTallies, Tally } from "../../base/tally.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Metrics of a server's fleet, if it has one. Each worker machine serves its own metrics. */
export function registerFleetMetrics(registry: Registry, events: Events, fleet: () => FleetStats | undefined): void {
  const registers = [registry];
  const gauge = gaugesOf(registry, fleet);
  gauge("fleet_machines", "Worker machines that accept calls of this server.", ({ machines }) => machines);
  gauge("fleet_slots", "Calls that the worker machines may run at once.", ({ slots }) => slots);
  gauge("fleet_busy_slots", "Calls running on the worker machines, of all servers.", ({ busySlots }) => busySlots);
  gauge(
    "fleet_waiting_jobs",
    "Calls of this server that no worker machine has taken yet.",
    ({ waitingJobs }) => waitingJobs,
  );
  gauge("fleet_redis_up", "1 if Redis is reached and refuses no commands, else 0.", ({ isRedisUp }) =>
    Number(isRedisUp),
  );
  const restarts = new Counter({
    name: "glovebox_fleet_restarts_total",
    help: "Calls resumed on another machine because theirs was lost.",
    registers,
  });
  events.on("fleet:resume", ({ size }) => restarts.inc(size));
  const wait = new Tally(SECONDS);
  events.on("fleet:taken", ({ waitMs, size }) => {
    for (let call = 0; call < size; call++) wait.observe(waitMs / 1e3);
  });
  const about = {
    name: "glovebox_fleet_wait_seconds",
    help: "Time from queueing a call in Redis until a worker machine takes it, in seconds.",
  };
  registerTallies(registry, about, () => [[{}, wait]]);
}
