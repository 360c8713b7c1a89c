import { emptyMetadata, success } from "../../src/kernel/base/result.ts";
import { TenantAccounts } from "../../src/kernel/base/tenant-account.ts";
import { Registry } from "prom-client";
import { Events } from "../../src/kernel/engine/telemetry/events.ts";
import { registerCallMetrics } from "../../src/kernel/engine/telemetry/kept-call-metrics.ts";
import { Metrics } from "../../src/kernel/engine/telemetry/metrics.ts";
import type { ExecutorStats } from "../../src/kernel/executor/executor.ts";
import { MachineMetrics } from "../../src/fleet/machine/machine-metrics.ts";
import { Traffic } from "../../src/server/http/traffic.ts";
import { READY } from "../../test/fleet/machine/ready-machine.ts";
import { code, page, table } from "./markdown.ts";

/** A metric as a scrape names it. */
export interface MetricDescription {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

const FLEET = {
  machines: 0,
  slots: 0,
  busySlots: 0,
  waitingJobs: 0,
  isRedisUp: true,
  problem: null,
  seen: [],
  unlisted: 0,
  unreadable: 0,
};
const EXECUTOR: ExecutorStats = { ...READY.executor, fleet: FLEET };
const NO_DROPS = { rate: 0, busy: 0, locked: 0, unreachable: 0, full: 0, corrupt: 0, unusable: 0, ended: 0 };
const SCHEDULER = { queued: 0, maxQueued: 0, running: 0, concurrency: 0 };
const CALL = {
  callId: "c1",
  tool: "add",
  tenant: "",
  result: success(null, { ...emptyMetadata("c1", "add", 0), attempts: 1 }),
};

export async function metricsPage(): Promise<string> {
  const engine = await engineMetrics();
  const isOfFleet = ({ name }: MetricDescription) => name.startsWith("glovebox_fleet_");
  const machine = await machineMetrics();
  return page("Metrics", [
    "`GET /metrics` of a server, `GET /metrics` of a worker machine and `engine.metrics()` show these in Prometheus' text format, and in that of OpenMetrics where the client prefers it. Labels are bounded: tools beyond the first 500 share the label `other`, and a name that only a caller made up never becomes a label. The processes' own `process_…` and `nodejs_…` metrics come beside them.",
    "## Engine and server",
    metricsTable(engine.filter((metric) => !isOfFleet(metric))),
    "## Server of a fleet",
    "A server whose executor is `queue` shows these as well.",
    metricsTable(engine.filter(isOfFleet)),
    "## Kept calls",
    "An engine with the option `calls`, and a server that keeps calls, shows these as well.",
    metricsTable(await keptCallMetrics()),
    "## Worker machine",
    "A machine shows these, and of the table for engines those of isolates, executors, the build and the configuration.",
    metricsTable(machine.filter(({ name }) => name.startsWith("glovebox_machine_"))),
  ]);
}

/** The metrics of an engine with a server and a fleet. One call and one request give every label a value. */
async function engineMetrics(): Promise<readonly MetricDescription[]> {
  const events = new Events();
  const accounts = new TenantAccounts();
  accounts.of("acme").spendMain(1);
  const standing = () => Promise.resolve(null);
  const sources = { scheduler: () => SCHEDULER, executor: () => EXECUTOR, accounts, standing };
  const { registry } = new Metrics(events, sources, []);
  events.emit("tool:post", CALL);
  Traffic.of(registry).route("/v1/execute").duration.observe(0);
  return describe(registry);
}

function keptCallMetrics(): Promise<readonly MetricDescription[]> {
  const registry = new Registry();
  registerCallMetrics(registry, { status: () => ({ kept: 0, dropped: NO_DROPS, bytes: 0, problem: null }) });
  return describe(registry);
}

function machineMetrics(): Promise<readonly MetricDescription[]> {
  return describe(new MachineMetrics(() => READY).registry);
}

async function describe(registry: Registry): Promise<readonly MetricDescription[]> {
  const registered = await registry.getMetricsAsJSON();
  return registered.map(({ name, type, help, values }) => ({
    name,
    type: String(type),
    help,
    labels: labelNamesOf(registry, name) ?? labelsOf(values),
  }));
}

/** The labels with which a metric of prom-client was made; histograms of our own have none. */
function labelNamesOf(registry: Registry, name: string): readonly string[] | undefined {
  const metric = registry.getSingleMetric(name);
  return metric === undefined ? undefined : (Reflect.get(metric, "labelNames") as readonly string[] | undefined);
}

function labelsOf(values: readonly { readonly labels: object }[]): readonly string[] {
  return [...new Set(values.flatMap(({ labels }) => Object.keys(labels)))].filter((label) => label !== "le");
}

function metricsTable(metrics: readonly MetricDescription[]): string {
  const rows = metrics
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(", "), help]);
  return table(["metric", "type", "labels", "meaning"], rows);
}
