import { checkFunction } from "./inner/errors.ts";
import { kept, type NodeModule, soon } from "./inner/library.ts";

/** `node:perf_hooks`: the call's clock. Marks and measures belong to the instance. */

class PerformanceEntry {
  readonly name: string;
  readonly entryType: string;
  readonly startTime: number;
  readonly duration: number;
  readonly detail: unknown;

  constructor(name: string, entryType: string, startTime: number, duration: number, detail: unknown) {
    this.name = name;
    this.entryType = entryType;
    this.startTime = startTime;
    this.duration = duration;
    this.detail = detail;
  }

  toJSON(): object {
    const { name, entryType, startTime, duration, detail } = this;
    return { name, entryType, startTime, duration, detail };
  }
}

class PerformanceMark extends PerformanceEntry {}
class PerformanceMeasure extends PerformanceEntry {}

type Entries = readonly PerformanceEntry[];

/** What one instance has marked and measured: of more than this, the oldest go. */
const ENTRIES_MAX = 10_000;

interface Timeline {
  entries: PerformanceEntry[];
  readonly observers: Map<object, (entry: PerformanceEntry) => void>;
}

const timeline = (): Timeline => kept("perf_hooks", () => ({ entries: [], observers: new Map() }));

function add<Entry extends PerformanceEntry>(entry: Entry): Entry {
  const { entries, observers } = timeline();
  push(entries, entry);
  for (const hear of observers.values()) hear(entry);
  return entry;
}

function push(entries: PerformanceEntry[], entry: PerformanceEntry): void {
  if (entries.push(entry) > ENTRIES_MAX) entries.shift();
}

const byTime = (entries: Entries): Entries => entries.toSorted((one, other) => one.startTime - other.startTime);
const byName = (entries: Entries, name: string, type?: string): Entries =>
  byTime(entries.filter((entry) => entry.name === name && (type === undefined || entry.entryType === type)));
const byType = (entries: Entries, type: string): Entries => byTime(entries.filter((entry) => entry.entryType === type));

interface ListOfEntries {
  getEntries(): Entries;
  getEntriesByName(name: string, type?: string): Entries;
  getEntriesByType(type: string): Entries;
}

function listOf(entries: Entries): ListOfEntries {
  return {
    getEntries: () => byTime(entries),
    getEntriesByName: (name, type) => byName(entries, name, type),
    getEntriesByType: (type) => byType(entries, type),
  };
}

class PerformanceObserver {
  static readonly supportedEntryTypes: readonly string[] = ["mark", "measure"];
  readonly #callback: (...args: unknown[]) => unknown;
  #types: readonly string[] = [];
  #heard: PerformanceEntry[] = [];

  constructor(callback: unknown) {
    checkFunction(callback, "callback");
    this.#callback = callback;
  }

  observe(options: { entryTypes?: readonly string[]; type?: string; buffered?: boolean } = {}): void {
    const { entryTypes, type, buffered = false } = options;
    this.#types = type === undefined ? (entryTypes ?? []) : [...this.#types, type];
    const { entries, observers } = timeline();
    observers.set(this, (entry) => this.#hear(entry));
    if (buffered) for (const entry of entries) this.#hear(entry);
  }

  disconnect(): void {
    timeline().observers.delete(this);
    this.#types = [];
    this.#heard = [];
  }

  takeRecords(): Entries {
    const heard = this.#heard;
    this.#heard = [];
    return heard;
  }

  #hear(entry: PerformanceEntry): void {
    if (!this.#types.includes(entry.entryType)) return;
    if (this.#heard.length === 0) soon(() => this.#tell());
    push(this.#heard, entry);
  }

  #tell(): void {
    const heard = this.takeRecords();
    if (heard.length > 0) Reflect.apply(this.#callback, this, [listOf(heard), this]);
  }
}

const now = (): number => globalThis.performance.now();

function mark(name: unknown, options: { startTime?: number; detail?: unknown } = {}): PerformanceMark {
  const { startTime = now(), detail = null } = options;
  return add(new PerformanceMark(`${name as string}`, "mark", startTime, 0, structuredClone(detail)));
}

/** The time of a mark, of a number, or `otherwise`. */
function timeOf(point: unknown, otherwise: number): number {
  if (point === undefined) return otherwise;
  if (typeof point === "number") return point;
  const found = timeline().entries.findLast(({ name, entryType }) => entryType === "mark" && name === point);
  if (found !== undefined) return found.startTime;
  throw new DOMException(`The "${point as string}" performance mark has not been set`, "SyntaxError");
}

interface MeasureOptions {
  readonly start?: unknown;
  readonly end?: unknown;
  readonly duration?: number;
  readonly detail?: unknown;
}

function measure(name: unknown, from?: unknown, to?: unknown): PerformanceMeasure {
  const options: MeasureOptions = typeof from === "object" && from !== null ? from : { start: from, end: to };
  const { start, end = to, duration, detail = null } = options;
  const isBack = duration !== undefined && start === undefined;
  const begin = isBack ? timeOf(end, now()) - duration : timeOf(start, 0);
  const stop = duration === undefined ? timeOf(end, now()) : begin + duration;
  return add(new PerformanceMeasure(`${name as string}`, "measure", begin, stop - begin, structuredClone(detail)));
}

function clear(type: string): (name?: unknown) => void {
  return (name) => {
    const line = timeline();
    line.entries = line.entries.filter((entry) => entry.entryType !== type || (name ?? entry.name) !== entry.name);
  };
}

const usage = { idle: 0, active: 0, utilization: 0 };
const performance = {
  now,
  get timeOrigin() {
    return globalThis.performance.timeOrigin;
  },
  mark,
  measure,
  markResourceTiming: () => undefined,
  clearResourceTimings: () => undefined,
  setResourceTimingBufferSize: () => undefined,
  clearMarks: clear("mark"),
  clearMeasures: clear("measure"),
  getEntries: () => byTime(timeline().entries),
  getEntriesByName: (name: string, type?: string) => byName(timeline().entries, name, type),
  getEntriesByType: (type: string) => byType(timeline().entries, type),
  timerify: (callback: unknown) => callback,
  eventLoopUtilization: () => ({ ...usage }),
  toJSON: () => ({ timeOrigin: globalThis.performance.timeOrigin }),
};

export const shared: NodeModule = {
  performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceObserver,
  constants: Object.freeze({}),
};
