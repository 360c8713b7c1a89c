import type { NodeModule } from "./inner/library.ts";

/** `node:perf_hooks`: the call's clock. */

class PerformanceObserver {
  static readonly supportedEntryTypes: readonly string[] = [];

  observe(): void {}

  disconnect(): void {}

  takeRecords(): readonly unknown[] {
    return [];
  }
}

const usage = { idle: 0, active: 0, utilization: 0 };
const performance = {
  now: () => globalThis.performance.now(),
  get timeOrigin() {
    return globalThis.performance.timeOrigin;
  },
  mark: (name: string) => ({ name, entryType: "mark", startTime: globalThis.performance.now(), duration: 0 }),
  measure: (name: string) => ({ name, entryType: "measure", startTime: 0, duration: globalThis.performance.now() }),
  markResourceTiming: () => undefined,
  clearResourceTimings: () => undefined,
  setResourceTimingBufferSize: () => undefined,
  clearMarks: () => undefined,
  clearMeasures: () => undefined,
  getEntries: () => [],
  getEntriesByName: () => [],
  getEntriesByType: () => [],
  timerify: (callback: unknown) => callback,
  eventLoopUtilization: () => ({ ...usage }),
  toJSON: () => ({ timeOrigin: globalThis.performance.timeOrigin }),
};

export const shared: NodeModule = { performance, PerformanceObserver, constants: Object.freeze({}) };
