import { Counter, Gauge, Registry } from "../../base/prometheus.ts";
import { ERRORS } from "../../base/errors.ts";
import { type MetricsFormat, writeMetrics } from "../../base/open-metrics.ts";
import { registerDurableMetrics } from "./durable-metrics.ts";
import type { CallEvent, Events } from "./events.ts";
import type { ExecutorStats } from "../../executor/executor.ts";
import { ExecutorMetrics } from "../../executor/executor-metrics.ts";
import { registerFleetMetrics } from "./fleet-metrics.ts";
import { gaugesOf } from "../../base/prometheus.ts";
import type { SchedulerStats } from "../schedule/scheduler.ts";
import { registerTallies, Tally } from "../../base/tally.ts";
import type { CallStanding } from "../../store/calls/durable/durable-step.ts";
import type { TenantAccounts } from "../../base/tenant-account.ts";
import { registerConnectorMetrics } from "./connector-metrics.ts";
import { registerHostMetrics } from "./host-metrics.ts";
import { registerInfo } from "../../base/info-metrics.ts";
import { RedisHealth } from "./redis-health.ts";
import { ReloadRecord } from "./reload-record.ts";
import { recordedTrace } from "./tracing.ts";

/** Maximum number of tools with a label of their own; all later ones share `other`. */
const TOOL_LABELS_MAX = 500;
const OTHER = "other";

/** Values read at each scrape instead of being counted on the hot path. */
export interface MetricSources {
  scheduler(): SchedulerStats;
  executor(): ExecutorStats;
  readonly accounts: TenantAccounts;
  /** Numbers of waiting calls; `null` if they are not known. */
  standing(): Promise<CallStanding | null>;
}

/** Totals of one tool's calls. Counts wait here for the next scrape. */
interface ToolTallies {
  ok: number;
  cpuMs: number;
  readonly duration: Tally;
}

const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Prometheus metrics of one engine, fed by its events and by `MetricSources`. */
export class Metrics {
  readonly registry: Registry;
  readonly redis: RedisHealth;
  readonly reloads: ReloadRecord;
  readonly #calls: Counter<"tool" | "code">;
  readonly #queueWait = new Tally(SECONDS);
  readonly #batch = new Tally(BATCH_SIZES);
  readonly #executor: ExecutorMetrics;
  readonly #callRestarts: Counter;
  readonly #quarantine: Counter<"event">;
  readonly #capabilities: Counter<"capability" | "outcome">;
  readonly #rejections: Counter<"code">;
  readonly #auditDrops: Counter;
  readonly #tools = new Map<string, ToolTallies>();
  readonly #capabilityNames: ReadonlySet<string>;

  constructor(events: Events, sources: MetricSources, capabilityNames: readonly string[], registry = new Registry()) {
    this.registry = registry;
    this.redis = new RedisHealth(events, registry);
    this.reloads = new ReloadRecord(events, registry);
    this.#capabilityNames = new Set(capabilityNames);
    const registers = [registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[], collect?: () => void) =>
      new Counter({
        name: `glovebox_${name}`,
        help,
        labelNames,
        registers,
        ...(collect === undefined ? {} : { collect }),
      });
    this.#calls = counter(
      "calls_total",
      "Ended calls by tool and error code; code ok for success.",
      ["tool", "code"],
      () => {
        for (const [tool, tallies] of this.#tools) {
          if (tallies.ok > 0) this.#calls.inc({ tool, code: "ok" }, tallies.ok);
          tallies.ok = 0;
        }
      },
    );
    const cpu = counter("cpu_seconds_total", "Processor time used by tool code, in seconds.", ["tool"], () => {
      for (const [tool, tallies] of this.#tools) {
        if (tallies.cpuMs > 0) cpu.inc({ tool }, tallies.cpuMs / 1e3);
        tallies.cpuMs = 0;
      }
    });
    this.#executor = new ExecutorMetrics(registry, () => sources.executor());
    this.#callRestarts = counter("call_restarts_total", "Calls restarted because their executor was lost.", []);
    this.#quarantine = counter(
      "quarantine_events_total",
      "Quarantine events by kind: quarantine, refuse, probe, clear.",
      ["event"],
    );
    this.#capabilities = counter("capability_calls_total", "Capability calls by capability and outcome.", [
      "capability",
      "outcome",
    ]);
    this.#rejections = counter("rejections_total", "Calls and requests refused before they ran, by error code.", [
      "code",
    ]);
    // Start at 0: an alert sees no increase in a series that begins with its first count.
    for (const [code, { http }] of Object.entries(ERRORS)) if (http !== 200) this.#rejections.inc({ code }, 0);
    this.#auditDrops = counter("audit_dropped_total", "Audit entries that were dropped.", []);
    events.on("tool:late", ({ tool, cpuMs }) => {
      this.#of(tool).cpuMs += cpuMs;
    });
    const keyCalls = counter("key_calls_total", "Ended calls by key name and error code.", ["key", "code"]);
    events.on("key:call", (labels) => keyCalls.inc(labels));
    const keyCpu = counter(
      "key_cpu_seconds_total",
      "Processor time of calls by key name, child calls included, in seconds.",
      ["key"],
    );
    events.on("key:cpu", ({ key, cpuMs }) => keyCpu.inc({ key }, cpuMs / 1e3));
    const duration = {
      name: "glovebox_call_duration_seconds",
      help: "Time from a call's first start to its result, in seconds.",
    };
    registerTallies(registry, duration, () => [...this.#tools].map(([tool, tallies]) => [{ tool }, tallies.duration]));
    const wait = {
      name: "glovebox_queue_wait_seconds",
      help: "Time from a call's acceptance to its start, in seconds.",
    };
    registerTallies(registry, wait, () => [[{}, this.#queueWait]]);
    const batch = { name: "glovebox_dispatch_batch_size", help: "Number of calls sent to a worker in one batch." };
    registerTallies(registry, batch, () => [[{}, this.#batch]]);
    const checks = counter("program_checks_total", "Programs of code mode that were checked, by outcome.", ["outcome"]);
    for (const outcome of ["accepted", "rejected", "unchecked"]) checks.inc({ outcome }, 0);
    events.on("program:check", ({ outcome }) => checks.inc({ outcome }));
    this.#registerParts(events, sources);
    this.#subscribe(events);
  }

  /** Registers the metrics of parts of the engine. */
  #registerParts(events: Events, sources: MetricSources): void {
    const { registry } = this;
    registerInfo(registry);
    registerHostMetrics(registry, sources.accounts, events);
    registerConnectorMetrics(registry, events);
    registerDurableMetrics(
      registry,
      events,
      () => sources.standing(),
      (tool) => this.#taken(tool),
    );
    registerGauges(registry, sources, (tool) => this.#label(tool));
    if (sources.executor().fleet !== undefined) {
      registerFleetMetrics(registry, events, () => sources.executor().fleet);
    }
  }

  text(format: MetricsFormat): Promise<string> {
    return writeMetrics([this.registry], format);
  }

  #subscribe(events: Events): void {
    events.on("tool:post", (event) => this.#onPost(event));
    events.on("tool:error", (event) => this.#onError(event));
    events.on("dispatch:batch", ({ size }) => this.#batch.observe(size));
    const { record } = this.#executor;
    events.on("executor:start", (event) => record("executor:start", event));
    events.on("executor:lost", (event) => record("executor:lost", event));
    events.on("executor:recycle", (event) => record("executor:recycle", event));
    events.on("executor:delay", (event) => record("executor:delay", event));
    events.on("call:restart", () => this.#callRestarts.inc());
    for (const event of ["quarantine", "refuse", "probe", "clear"] as const) {
      events.on(`tool:${event}`, () => this.#quarantine.inc({ event }));
    }
    events.on("request:refused", ({ code }) => this.#rejections.inc({ code }));
    events.on("audit:drop", ({ dropped }) => this.#auditDrops.inc(dropped));
    events.on("capability:call", ({ capability, outcome }) => {
      // A tool may write any name.
      const known = this.#capabilityNames.has(capability) ? capability : OTHER;
      this.#capabilities.inc({ capability: known, outcome });
    });
  }

  #onPost({ tool, result }: CallEvent): void {
    const tallies = this.#of(tool);
    tallies.ok++;
    this.#observe(tallies, result.metadata);
  }

  #onError({ tool, result }: CallEvent): void {
    const code = result.error?.code ?? "tool_error";
    if (code === "tool_not_found") {
      // The name comes from the caller and must not become a label.
      this.#calls.inc({ tool: OTHER, code });
      this.#rejections.inc({ code });
      return;
    }
    this.#calls.inc({ tool: this.#label(tool), code });
    if (result.metadata.attempts > 0) this.#observe(this.#of(tool), result.metadata);
    else this.#rejections.inc({ code });
  }

  #observe(tallies: ToolTallies, { wallMs, cpuMs, queueMs }: CallEvent["result"]["metadata"]): void {
    tallies.duration.observe(wallMs / 1e3, recordedTrace());
    tallies.cpuMs += cpuMs;
    this.#queueWait.observe(queueMs / 1e3);
  }

  #of(tool: string): ToolTallies {
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    const label = this.#label(tool);
    if (label !== tool) return this.#of(label);
    const tallies = { ok: 0, cpuMs: 0, duration: new Tally(SECONDS) };
    this.#tools.set(tool, tallies);
    return tallies;
  }

  /** The label of a tool, which keeps it from now on. */
  #taken(tool: string): string {
    this.#of(tool);
    return this.#label(tool);
  }

  #label(tool: string): string {
    return this.#tools.has(tool) || this.#tools.size < TOOL_LABELS_MAX ? tool : OTHER;
  }
}

function registerGauges(registry: Registry, sources: MetricSources, label: (tool: string) => string): void {
  const gauge = gaugesOf(registry, () => sources.scheduler());
  gauge("queue_depth", "Calls waiting in the queue.", ({ queued }) => queued);
  gauge("queue_capacity", "Maximum number of waiting calls.", ({ maxQueued }) => maxQueued);
  gauge("calls_in_flight", "Calls running.", ({ running }) => running);
  gauge("calls_capacity", "Maximum number of calls running at once.", ({ concurrency }) => concurrency);
  new Gauge({
    name: "glovebox_isolate_heap_bytes",
    help: "Heap used by the isolates of a tool, in bytes.",
    labelNames: ["tool"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [tool, bytes] of sources.executor().heapBytes) this.inc({ tool: label(tool) }, bytes);
    },
  });
}
