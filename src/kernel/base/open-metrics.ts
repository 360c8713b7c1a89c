import type { MetricObject } from "prom-client";
import type { Registry } from "./prometheus.ts";

/** Formats of metrics: Prometheus' own text, and OpenMetrics 1.0, which has exemplars. */
export type MetricsFormat = "prometheus" | "openmetrics";

export const OPEN_METRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** An observation of a histogram's bucket that belongs to a trace. */
export interface Exemplar {
  readonly labelSet: Readonly<Record<string, string>>;
  readonly value: number;
  /** In seconds since the epoch. */
  readonly timestamp: number;
}

/** A sample as prom-client's metrics give it. */
export interface Sample {
  /** Default: the metric's name. */
  readonly metricName?: string;
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly exemplar?: Exemplar | null;
}

interface Family extends Pick<MetricObject, "help"> {
  readonly name: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

const TOTAL = "_total";
/** Start of all counts: the start of the process. */
const CREATED = `${performance.timeOrigin / 1e3}`;

/** Writes the metrics of registries as one text. */
export async function writeMetrics(registries: readonly Registry[], format: MetricsFormat): Promise<string> {
  if (format === "openmetrics") return writeOpenMetrics(registries);
  return (await Promise.all(registries.map((registry) => registry.metrics()))).join("\n");
}

/**
 * Writes metrics in the format of OpenMetrics 1.0: with exemplars, and the time from which each counter and histogram
 * counts. prom-client's own writer lacks these times, and misnames every counter of a registry of another format.
 */
async function writeOpenMetrics(registries: readonly Registry[]): Promise<string> {
  const metrics = registries.flatMap((registry) => registry.getMetricsAsArray() as unknown as readonly Gettable[]);
  const families = await Promise.all(metrics.map((metric) => metric.get()));
  return `${families.map(writeFamily).join("")}# EOF\n`;
}

interface Gettable {
  get(): Promise<Family>;
}

function writeFamily({ name, help, type, values }: Family): string {
  const family = type === "counter" && name.endsWith(TOTAL) ? name.slice(0, -TOTAL.length) : name;
  const lines = [`# TYPE ${family} ${type}`, `# HELP ${family} ${escape(help)}`];
  for (const { metricName = name, labels = {}, value, exemplar } of values) {
    const written = writeLabels(labels);
    const sample = type === "counter" ? `${family}${TOTAL}` : metricName;
    lines.push(`${sample}${written} ${writeNumber(value)}${exemplar ? writeExemplar(exemplar) : ""}`);
    // A histogram's count is the last of its samples.
    if (type === "counter" || metricName === `${name}_count`) lines.push(`${family}_created${written} ${CREATED}`);
  }
  return `${lines.join("\n")}\n`;
}

function writeLabels(labels: Readonly<Record<string, string | number>>): string {
  const written = Object.entries(labels).map(
    ([name, value]) => `${name}="${name === "le" ? writeBound(value) : escape(String(value))}"`,
  );
  return written.length === 0 ? "" : `{${written.join(",")}}`;
}

/** The bound of a bucket, always written as a float. */
function writeBound(bound: string | number): string {
  return typeof bound === "number" && Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

function writeExemplar({ labelSet, value, timestamp }: Exemplar): string {
  return ` # ${writeLabels(labelSet) || "{}"} ${writeNumber(value)} ${timestamp}`;
}

function writeNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
