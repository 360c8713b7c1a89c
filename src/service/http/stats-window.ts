import type { CallEvent } from "../../engine/telemetry/events.ts";

/** Tools told apart within one window; calls of others count for all of them alone. */
const TOOLS_MAX = 1_000;
const TOOLS_SHOWN_MAX = 50;

/** What ended in one second, by the second. */
export interface CallRates {
  /** Calls that ended, whether well or not, and whether they ran or not. */
  readonly perSecond: number;
  /** Those of them that ended with an error. */
  readonly errorsPerSecond: number;
  /** Waiting and running together, of the calls that ran; `null` where none did. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

/** What one tool's calls came to. */
export interface ToolRates {
  readonly name: string;
  readonly callsPerSecond: number;
  readonly errorsPerSecond: number;
  /** 1,000 is one processor. */
  readonly cpuMsPerSecond: number;
  readonly p99Ms: number | null;
}

interface ToolWindow {
  calls: number;
  errors: number;
  cpuMs: number;
  readonly latencies: Latencies;
}

/** The calls that ended since the last snapshot. */
export class StatsWindow {
  readonly #latencies = new Latencies();
  readonly #tools = new Map<string, ToolWindow>();
  #calls = 0;
  #errors = 0;

  count({ tool, result: { error, metadata } }: CallEvent): void {
    this.#calls++;
    if (error !== null) this.#errors++;
    const latencyMs = metadata.queueMs + metadata.wallMs;
    if (metadata.attempts > 0) this.#latencies.observe(latencyMs);
    // The name of a tool that there is not is the caller's.
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

  /** The busiest first. */
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

/** To a hundredth. */
function rate(count: number, seconds: number): number {
  return Math.round((count / seconds) * 100) / 100;
}

/** Buckets for each doubling: a quantile is at most a twentieth off. */
const STEPS = 8;
const LEAST_MS = 0.01;
/** Up to some three hours; what takes longer is counted as that. */
const BUCKETS = 30 * STEPS;

/** How long things took, in buckets that grow with the time, so that a short call is told as exactly as a long one. */
export class Latencies {
  readonly #counts = new Uint32Array(BUCKETS);
  #total = 0;

  observe(ms: number): void {
    const at = ms > LEAST_MS ? Math.min(BUCKETS - 1, Math.floor(Math.log2(ms / LEAST_MS) * STEPS)) : 0;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total++;
  }

  /** The time within which a share of them, from 0 to 1, ended: in milliseconds; `null` where there were none. */
  quantile(share: number): number | null {
    if (this.#total === 0) return null;
    const wanted = Math.max(1, Math.ceil(share * this.#total));
    let seen = 0;
    let at = 0;
    for (; at < BUCKETS; at++) {
      seen += this.#counts[at] ?? 0;
      if (seen >= wanted) break;
    }
    // The middle of the bucket, as such buckets have it.
    return roundMs(LEAST_MS * 2 ** ((at + 0.5) / STEPS));
  }
}

/** Three digits say all that a bucket knows. */
function roundMs(ms: number): number {
  return Number(ms.toPrecision(3));
}
