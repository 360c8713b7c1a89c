import type { Engine } from "../../engine/engine.ts";
import type { EngineStats } from "../../engine/engine-stats.ts";
import type { CallEvent } from "../../engine/telemetry/events.ts";
import { type CallRates, StatsWindow, type ToolRates } from "./stats-window.ts";

/** What an engine and its server are doing. Rates and quantiles are those of the last second. */
export interface StatsSnapshot extends Pick<
  EngineStats,
  "state" | "queued" | "running" | "executor" | "isolates" | "quarantined"
> {
  /** ISO 8601. */
  readonly time: string;
  /** Milliseconds since the server started. */
  readonly uptimeMs: number;
  readonly calls: CallRates;
  /** Executors that were lost or made room, since the server began to listen. */
  readonly restarts: number;
  /** The tools with calls in that second, the busiest first, at most 50. */
  readonly tools: readonly ToolRates[];
  readonly http: {
    readonly connections: number;
    /** Clients that get these snapshots as a stream. */
    readonly streams: number;
  };
}

/** Whoever wants the next snapshots, until it is removed. */
export type Watcher = (snapshot: StatsSnapshot) => void;

/** What a sampler is told by the server. */
export interface ServerSources {
  connections(): Promise<number>;
  streams(): number;
  isDraining(): boolean;
}

const PERIOD_MS = 1_000;
/** Who begins to watch sees something soon. */
const FIRST_MS = 250;

/** Makes one snapshot each second for all who watch. While nobody does, no timer runs, and nothing listens to calls. */
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
    // These are rare, and have to be counted from the start.
    engine.on("executor:lost", () => this.#restarts++);
    engine.on("executor:recycle", () => this.#restarts++);
  }

  /** How many watch. */
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
    const { state, queued, running, executor, isolates, quarantined } = this.#engine.stats();
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
      tools: window.tools(seconds),
    };
  }

  #openWindow(): void {
    this.#window = new StatsWindow();
    this.#openedMs = performance.now();
  }
}
