import type { CallEvent } from "../../kernel/engine/telemetry/events.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import type { EngineStats } from "../../kernel/engine/engine.ts";

/** State of an engine and its server. Rates and quantiles cover the last second. */
export interface StatsSnapshot extends Pick<
  EngineStats,
  "state" | "queued" | "running" | "executor" | "isolates" | "quarantined"
> {
  /** ISO 8601. */
  readonly time: string;
  /** Milliseconds since the server started. */
  readonly uptimeMs: number;
  readonly calls: CallRates;
  /** Executors lost or recycled since the server began to listen. */
  readonly restarts: number;
  /** Names of the connectors that need a login. */
  readonly needLogin: readonly string[];
  /** Problems that an operator has to solve, although calls run: the problem, its effect, and the remedy. */
  readonly problems: readonly string[];
  /** Tools with calls in that second, the busiest first; at most 50. */
  readonly tools: readonly ToolRates[];
  readonly http: {
    readonly connections: number;
    /** Clients that receive snapshots as a stream. */
    readonly streams: number;
  };
}

/** Receives each snapshot until it is removed. */
export type Watcher = (snapshot: StatsSnapshot) => void;

/** Values that the server supplies to a sampler. */
export interface ServerSources {
  connections(): Promise<number>;
  streams(): number;
  isDraining(): boolean;
}

const PERIOD_MS = 1_000;
/** Delay of the first snapshot, shorter than the period so that a new watcher soon gets one. */
const FIRST_MS = 250;

/** Makes one snapshot each second for all watchers. Without watchers no timer runs and no call event is handled. */
export class Sampler {
  readonly #engine: Engine;
  readonly #sources: ServerSources;
  readonly #startedMs = performance.now();
  readonly #watchers = new Set<Watcher>();
  #restarts = 0;
  #window = new StatsWindow();
  #openedMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(engine: Engine, sources: ServerSources) {
    this.#engine = engine;
    this.#sources = sources;
    // These events are rare and must be counted from the start.
    engine.on("executor:lost", () => this.#restarts++);
    engine.on("executor:recycle", () => this.#restarts++);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    if (this.#watchers.size > 1) return;
    this.#openWindow();
    this.#engine.on("tool:post", this.#onCall);
    this.#engine.on("tool:error", this.#onCall);
    this.#arm(FIRST_MS);
  }

  remove(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return;
    clearTimeout(this.#timer);
    this.#engine.off("tool:post", this.#onCall);
    this.#engine.off("tool:error", this.#onCall);
  }

  readonly #onCall = (event: CallEvent): void => this.#window.count(event);

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#sample(), ms);
  }

  async #sample(): Promise<void> {
    this.#arm(PERIOD_MS);
    const snapshot = this.#snapshot();
    const connections = await this.#sources.connections();
    const told = { ...snapshot, http: { connections, streams: this.#sources.streams() } };
    for (const watcher of this.#watchers) watcher(told);
  }

  #snapshot(): Omit<StatsSnapshot, "http"> {
    const nowMs = performance.now();
    const seconds = (nowMs - this.#openedMs) / 1_000;
    const window = this.#window;
    this.#openWindow();
    const stats = this.#engine.stats();
    const { state, queued, running, executor, isolates, quarantined } = stats;
    return {
      time: new Date().toISOString(),
      uptimeMs: Math.round(nowMs - this.#startedMs),
      state: state === "open" && this.#sources.isDraining() ? "draining" : state,
      calls: window.calls(seconds),
      queued,
      running,
      executor,
      isolates,
      restarts: this.#restarts,
      quarantined,
      needLogin: this.#engine.needLogin,
      problems: problemsOf(stats, this.#engine.calls.status()?.problem ?? null),
      tools: window.tools(seconds),
    };
  }

  #openWindow(): void {
    this.#window = new StatsWindow();
    this.#openedMs = performance.now();
  }
}

function problemsOf({ redis = [], reload, idempotency }: EngineStats, keeping: string | null): readonly string[] {
  return [
    ...(reload === undefined
      ? []
      : [
          `The configuration was not reloaded at ${reload.at}, and that of ${reload.inForceSince} is in force: ${reload.reason}`,
        ]),
    ...redis.map(({ problem }) => problem),
    ...(idempotency === undefined ? [] : [idempotency.problem]),
    ...(keeping === null ? [] : [`Calls are not kept: ${keeping}`]),
  ];
}

/** Maximum number of tools with their own rates in one window; calls of further tools count only in the totals. */
const TOOLS_MAX = 1_000;
const TOOLS_SHOWN_MAX = 50;

/** Rates of ended calls. */
export interface CallRates {
  /** Ended calls, including failed and refused ones. */
  readonly perSecond: number;
  /** Calls that ended with an error. */
  readonly errorsPerSecond: number;
  /** Latency (queue and run time) of calls that ran; `null` if none ran. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

/** Rates of one tool's calls. */
export interface ToolRates {
  readonly name: string;
  readonly callsPerSecond: number;
  readonly errorsPerSecond: number;
  /** 1,000 is one full processor. */
  readonly cpuMsPerSecond: number;
  readonly p99Ms: number | null;
}

interface ToolWindow {
  calls: number;
  errors: number;
  cpuMs: number;
  readonly latencies: Latencies;
}

/** Calls that ended since the last snapshot. */
class StatsWindow {
  readonly #latencies = new Latencies();
  readonly #tools = new Map<string, ToolWindow>();
  #calls = 0;
  #errors = 0;

  count({ tool, result: { error, metadata } }: CallEvent): void {
    this.#calls++;
    if (error !== null) this.#errors++;
    const latencyMs = metadata.queueMs + metadata.wallMs;
    if (metadata.attempts > 0) this.#latencies.observe(latencyMs);
    // The name of an unknown tool is caller input: it gets no entry.
    const window = error?.code === "tool_not_found" ? undefined : this.#of(tool);
    if (window === undefined) return;
    window.calls++;
    if (error !== null) window.errors++;
    window.cpuMs += metadata.cpuMs;
    if (metadata.attempts > 0) window.latencies.observe(latencyMs);
  }

  calls(seconds: number): CallRates {
    return {
      perSecond: rate(this.#calls, seconds),
      errorsPerSecond: rate(this.#errors, seconds),
      p50Ms: this.#latencies.quantile(0.5),
      p95Ms: this.#latencies.quantile(0.95),
      p99Ms: this.#latencies.quantile(0.99),
    };
  }

  /** Rates by tool, the busiest first. */
  tools(seconds: number): readonly ToolRates[] {
    return [...this.#tools]
      .toSorted(([, a], [, b]) => b.calls - a.calls)
      .slice(0, TOOLS_SHOWN_MAX)
      .map(([name, { calls, errors, cpuMs, latencies }]) => ({
        name,
        callsPerSecond: rate(calls, seconds),
        errorsPerSecond: rate(errors, seconds),
        cpuMsPerSecond: rate(cpuMs, seconds),
        p99Ms: latencies.quantile(0.99),
      }));
  }

  #of(tool: string): ToolWindow | undefined {
    const known = this.#tools.get(tool);
    if (known !== undefined || this.#tools.size >= TOOLS_MAX) return known;
    const made = { calls: 0, errors: 0, cpuMs: 0, latencies: new Latencies() };
    this.#tools.set(tool, made);
    return made;
  }
}

/** Events per second, rounded to hundredths. */
function rate(count: number, seconds: number): number {
  return Math.round((count / seconds) * 100) / 100;
}

/** Buckets per doubling: a quantile is off by at most 5%. */
const STEPS = 8;
const LEAST_MS = 0.01;
/** Covers about three hours; longer times count in the last bucket. */
const BUCKETS = 30 * STEPS;

/** Histogram of durations with exponential buckets: the relative error is the same for short and long calls. */
export class Latencies {
  readonly #counts = new Uint32Array(BUCKETS);
  #total = 0;

  observe(ms: number): void {
    const at = ms > LEAST_MS ? Math.min(BUCKETS - 1, Math.floor(Math.log2(ms / LEAST_MS) * STEPS)) : 0;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total++;
  }

  /** Quantile for a share from 0 to 1, in milliseconds; `null` without observations. */
  quantile(share: number): number | null {
    if (this.#total === 0) return null;
    const wanted = Math.max(1, Math.ceil(share * this.#total));
    let seen = 0;
    let at = 0;
    for (; at < BUCKETS; at++) {
      seen += this.#counts[at] ?? 0;
      if (seen >= wanted) break;
    }
    // Geometric middle of the bucket.
    return roundMs(LEAST_MS * 2 ** ((at + 0.5) / STEPS));
  }
}

/** Rounds to three significant digits; buckets are no more precise. */
function roundMs(ms: number): number {
  return Number(ms.toPrecision(3));
}
