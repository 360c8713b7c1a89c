import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { CallEvent, Events } from "./events.ts";
import type { ExecutorStats } from "./executor/executor.ts";
import type { SchedulerStats } from "./schedule/scheduler.ts";

/** Tools that get a label of their own; all later ones share `other`. */
const TOOL_LABELS_MAX = 500;
const OTHER = "other";

/** What is read at each scrape instead of being counted on the hot path. */
export interface MetricSources {
  scheduler(): SchedulerStats;
  executor(): ExecutorStats;
}

interface ToolChildren {
  readonly ok: Counter.Internal;
  readonly duration: Histogram.Internal<"tool">;
  readonly cpu: Counter.Internal;
}

const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Prometheus metrics of one engine: a subscriber of its events, and of nothing else. */
export class Metrics {
  readonly registry: Registry;
  readonly #calls: Counter<"tool" | "code">;
  readonly #duration: Histogram<"tool">;
  readonly #cpu: Counter<"tool">;
  readonly #queueWait: Histogram;
  readonly #batch: Histogram;
  readonly #restarts: Counter<"reason">;
  readonly #capabilities: Counter<"capability" | "outcome">;
  readonly #rejections: Counter<"code">;
  readonly #children = new Map<string, ToolChildren>();
  readonly #capabilityNames: ReadonlySet<string>;

  constructor(events: Events, sources: MetricSources, capabilityNames: readonly string[], registry = new Registry()) {
    this.registry = registry;
    this.#capabilityNames = new Set(capabilityNames);
    const registers = [registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Counter({ name: `glovebox_${name}`, help, labelNames, registers });
    this.#calls = counter("calls_total", "Calls by tool and code; ok for success.", ["tool", "code"]);
    this.#cpu = counter("cpu_seconds_total", "Processor time of tools' own turns.", ["tool"]);
    this.#restarts = counter("executor_restarts_total", "Executors that were lost and replaced.", ["reason"]);
    this.#capabilities = counter("capability_calls_total", "Capability calls.", ["capability", "outcome"]);
    this.#rejections = counter("rejections_total", "Calls that were refused before they ran.", ["code"]);
    this.#duration = new Histogram({
      name: "glovebox_call_duration_seconds",
      help: "Time from dispatch to result.",
      labelNames: ["tool"],
      buckets: SECONDS,
      registers,
    });
    this.#queueWait = new Histogram({
      name: "glovebox_queue_wait_seconds",
      help: "Time calls waited for their start.",
      buckets: SECONDS,
      registers,
    });
    this.#batch = new Histogram({
      name: "glovebox_dispatch_batch_size",
      help: "Calls that went to a worker together.",
      buckets: BATCH_SIZES,
      registers,
    });
    registerGauges(registers, sources, (tool) => this.#label(tool));
    this.#subscribe(events);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  #subscribe(events: Events): void {
    events.on("tool:post", (event) => this.#onPost(event));
    events.on("tool:error", (event) => this.#onError(event));
    events.on("dispatch:batch", ({ size }) => this.#batch.observe(size));
    events.on("executor:lost", ({ reason }) => this.#restarts.inc({ reason }));
    events.on("capability:call", ({ capability, outcome }) => {
      // The name may be anything a tool wrote.
      const known = this.#capabilityNames.has(capability) ? capability : OTHER;
      this.#capabilities.inc({ capability: known, outcome });
    });
  }

  #onPost({ tool, result }: CallEvent): void {
    const children = this.#of(tool);
    children.ok.inc();
    this.#observe(children, result.metadata);
  }

  #onError({ tool, result }: CallEvent): void {
    const code = result.error?.code ?? "tool_error";
    if (code === "tool_not_found") {
      // The name is the caller's: it must not become a label.
      this.#calls.inc({ tool: OTHER, code });
      this.#rejections.inc({ code });
      return;
    }
    this.#calls.inc({ tool: this.#label(tool), code });
    if (result.metadata.attempts > 0) this.#observe(this.#of(tool), result.metadata);
    else this.#rejections.inc({ code });
  }

  #observe(children: ToolChildren, { wallMs, cpuMs, queueMs }: CallEvent["result"]["metadata"]): void {
    children.duration.observe(wallMs / 1e3);
    children.cpu.inc(cpuMs / 1e3);
    this.#queueWait.observe(queueMs / 1e3);
  }

  /** Children are bound once for each tool: looking labels up costs more than counting. */
  #of(tool: string): ToolChildren {
    const known = this.#children.get(tool);
    if (known !== undefined) return known;
    const label = this.#label(tool);
    const children = {
      ok: this.#calls.labels({ tool: label, code: "ok" }),
      duration: this.#duration.labels({ tool: label }),
      cpu: this.#cpu.labels({ tool: label }),
    };
    if (label === tool) this.#children.set(tool, children);
    return children;
  }

  #label(tool: string): string {
    return this.#children.has(tool) || this.#children.size < TOOL_LABELS_MAX ? tool : OTHER;
  }
}

function registerGauges(registers: Registry[], sources: MetricSources, label: (tool: string) => string): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `glovebox_${name}`,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge("queue_depth", "Calls that wait.", () => sources.scheduler().queued);
  gauge("calls_in_flight", "Calls that run.", () => sources.scheduler().running);
  gauge("executor_rss_bytes", "Resident memory of all executors.", () => sources.executor().rssBytes);
  gauge("quarantined_tools", "Tools that run apart.", () => sources.executor().quarantined.length);
  new Gauge({
    name: "glovebox_isolates",
    help: "Isolates by state.",
    labelNames: ["state"],
    registers,
    collect() {
      for (const [state, count] of Object.entries(sources.executor().isolates)) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "glovebox_isolate_heap_bytes",
    help: "Heap of the isolates of a tool.",
    labelNames: ["tool"],
    registers,
    collect() {
      this.reset();
      for (const [tool, bytes] of sources.executor().heapBytes) this.inc({ tool: label(tool) }, bytes);
    },
  });
  new Counter({
    name: "glovebox_isolate_starts_total",
    help: "Isolates and contexts started.",
    labelNames: ["kind"],
    registers,
    collect() {
      this.reset();
      for (const [kind, count] of sources.executor().starts) this.inc({ kind }, count);
    },
  });
}
