import { Gauge, type Registry } from "./prometheus.ts";

/** Registers gauges that read a source at each scrape. While the source is undefined, they keep their last value. */
export function gaugesOf<Source>(registry: Registry, source: () => Source | undefined) {
  return (name: string, help: string, read: (now: Source) => number): void => {
    new Gauge({
      name: `glovebox_${name}`,
      help,
      registers: [registry],
      collect() {
        const now = source();
        if (now !== undefined) this.set(read(now));
      },
    });
  };
}
