import { createRequire } from "node:module";
import type * as PromClient from "prom-client";

const require = createRequire(import.meta.url);

/* The parts of prom-client that an engine needs. Its index also loads HTTP, HTTPS, clusters and OpenTelemetry's API, which takes ten times the time and four times the memory. */
export const Counter = require("prom-client/lib/counter.js") as typeof PromClient.Counter;
export const Gauge = require("prom-client/lib/gauge.js") as typeof PromClient.Gauge;
export const Registry = require("prom-client/lib/registry.js") as typeof PromClient.Registry;
export type Counter<Label extends string = string> = PromClient.Counter<Label>;
export type Registry = PromClient.Registry;

/** Registers gauges that read a source at each scrape. While the source is undefined, they keep their last value. */
export function gaugesOf<Source>(registry: Registry, source: () => Source | undefined | Promise<Source | undefined>) {
  return (name: string, help: string, read: (now: Source) => number): void => {
    new Gauge({
      name: `glovebox_${name}`,
      help,
      registers: [registry],
      async collect() {
        const now = await source();
        if (now !== undefined) this.set(read(now));
      },
    });
  };
}
