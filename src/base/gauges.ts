import { Gauge, type Registry } from "./prometheus.ts";

/** Registers gauges that are read of a source at each scrape, and are left as they are while there is nothing to read of. */
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
