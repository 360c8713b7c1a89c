import { collectDefaultMetrics, Registry } from "prom-client";

/** Gauges that are named like counters, and that other metrics sum up to. */
const MISNAMED = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];
/** One of those that this process may have in a registry of its own. */
const SIGN = "# TYPE process_cpu_seconds_total ";

/** One for the process, as what it watches has no end. */
let registry: Registry | null = null;

/** Adds what is to be known of this process, its memory, files, and the delay of its event loop, to a scrape without it. */
export async function withProcessMetrics(text: string): Promise<string> {
  if (text.includes(SIGN)) return text;
  return `${text}\n${await (registry ??= watchProcess()).metrics()}`;
}

function watchProcess(): Registry {
  const watched = new Registry();
  collectDefaultMetrics({ register: watched });
  for (const name of MISNAMED) watched.removeSingleMetric(name);
  return watched;
}
