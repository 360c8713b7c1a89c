import type { Histogram, Registry } from "prom-client";
import type { Exemplar, Sample } from "./open-metrics.ts";

/** One series of a histogram: counts of observations per bucket, and their sum. */
export class Tally {
  readonly #bounds: readonly number[];
  /** One count per bound, and a last one for values above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;
  /** The last observation of each bucket that belongs to a trace. */
  readonly #exemplars: (Exemplar | undefined)[] = [];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** Counts a value. `traceId`: its trace, if that is recorded. */
  observe(value: number, traceId?: string): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? Infinity)) at++;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
    if (traceId === undefined) return;
    this.#exemplars[at] = { labelSet: { trace_id: traceId }, value, timestamp: Date.now() / 1e3 };
  }

  /** The samples in Prometheus's form: cumulative buckets, sum and count. */
  samples(name: string, labels: Readonly<Record<string, string>>): Sample[] {
    const samples: Sample[] = [];
    let total = 0;
    for (const [at, bound] of [...this.#bounds, "+Inf"].entries()) {
      total += this.#counts[at] ?? 0;
      const exemplar = this.#exemplars[at] ?? null;
      samples.push({ metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value: total, exemplar });
    }
    samples.push({ metricName: `${name}_sum`, labels, value: this.#sum });
    samples.push({ metricName: `${name}_count`, labels, value: total });
    return samples;
  }
}

/**
 * Registers a histogram that is counted here and only written out by prom-client: prom-client's own label lookup at
 * each observation costs more than all other metrics of a call together.
 */
export function registerTallies(
  registry: Registry,
  { name, help }: { readonly name: string; readonly help: string },
  read: () => Iterable<readonly [labels: Readonly<Record<string, string>>, tally: Tally]>,
): void {
  const get = async () => {
    const values = [...read()].flatMap(([labels, tally]) => tally.samples(name, labels));
    return { name, help, type: "histogram", aggregator: "sum", values };
  };
  // A registry uses only the name and `get` of a metric.
  const metric = { name, help, type: "histogram", aggregator: "sum", get, reset: () => undefined };
  registry.registerMetric(metric as unknown as Histogram);
}
