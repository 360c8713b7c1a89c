import type { Engine } from "../../src/kernel/engine/engine.ts";
import { BURN_FUNCTION, burnArguments, expectedBurn } from "../burn.ts";
import { openEngine, sumOf } from "../engines.ts";
import { offer, poissonArrivals } from "../open-loop.ts";
import { inRounds, pick, type Rounds } from "../rounds.ts";
import { runInEngine } from "../runs.ts";
import { digest, type Expected, probe, sampleThroughput, type Subject } from "../sampling.ts";
import type { Effort, Row, Scenario } from "../scenario.ts";
import { percentile, type Sample, summarize } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

interface OverloadEffort extends Effort {
  /** Calls in flight at once, when it is at its peak and when it is overloaded. */
  readonly concurrency: number;
  /** How many may wait besides, and how long. */
  readonly maxQueued: number;
  readonly queueMs: number;
}

interface OverloadSubject extends Subject {
  readonly argumentsOf: (index: number) => Record<string, unknown>;
  readonly expected: Expected;
}

interface Found {
  readonly peakPerSecond: number;
  readonly offeredPerSecond: number;
  readonly goodPerSecond: number;
  readonly refusedPercent: number;
  /** From its being sent to the answer of a call that succeeded. */
  readonly served: Sample | null;
  /** From its being sent to the answer of a call that found the queue full. */
  readonly full: Sample | null;
  /** From the end of its time in the queue to the answer of a call that waited too long. */
  readonly late: Sample | null;
}

/** How much more is offered than there is room for. */
const FACTOR = 2;
/** Work for which the worker is the bottleneck. For the small tool it is this thread, which also makes the load. */
const HEAVY_MS = 0.5;

/** Twice as much as can be done: what is still done, and how soon the others hear that they came too many. */
export const overload: Scenario<OverloadEffort> = {
  name: "overload",
  description: "calls at twice the rate of the engine's peak, one worker thread",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 40, concurrency: 16, maxQueued: 64, queueMs: 5 },
  // Nothing is quiet when there is too much of it.
  full: { states: ["quiet"], rounds: 5, sampleMs: 2_000, concurrency: 256, maxQueued: 1_000, queueMs: 50 },
  async run(context) {
    const { concurrency, maxQueued, queueMs } = context.size;
    await using engine = await openEngine("process", { queue: { concurrency, maxQueued } });
    const subjects = await openSubjects(engine, queueMs);
    const checksums: string[] = [];
    for (const subject of subjects) checksums.push(await probe([subject], subject.expected));
    const rounds = await inRounds(context, subjects, "twice the peak", async (subject, ms) => {
      const { value } = await sampleThroughput(subject, subject.expected, concurrency, ms);
      return await sampleOverload(engine, subject, value, queueMs, ms);
    });
    return { rows: rowsOf(subjects, rounds), checksum: digest(checksums) };
  },
};

async function openSubjects(engine: Engine, queueMs: number): Promise<OverloadSubject[]> {
  const limits = { queueMs };
  for (const [name, text] of [
    ["small", undefined],
    ["heavy", BURN_FUNCTION],
  ] as const) {
    // The peak is found by calls that may wait.
    await engine.register(addTool(name, text));
    await engine.register({ ...addTool(hurried(name), text), limits });
  }
  const burnOf = (index: number) => burnArguments(index, HEAVY_MS);
  const subject = (name: string, argumentsOf: OverloadSubject["argumentsOf"], expected: Expected): OverloadSubject => ({
    name,
    against: [],
    run: runInEngine(engine, name, argumentsOf),
    argumentsOf,
    expected,
  });
  return [subject("small", addArguments, expectedSum), subject("heavy", burnOf, expectedBurn(HEAVY_MS))];
}

/** The same tool, whose calls wait no longer than they may. */
function hurried(name: string): string {
  return `${name}-hurried`;
}

/** Times of calls, by how they ended. */
interface Times {
  readonly served: number[];
  readonly full: number[];
  readonly late: number[];
}

async function sampleOverload(
  engine: Engine,
  subject: OverloadSubject,
  peakPerSecond: number,
  queueMs: number,
  windowMs: number,
): Promise<Found> {
  const times: Times = { served: [], full: [], late: [] };
  const endMs = performance.now() + windowMs;
  let good = 0;
  const arrivals = poissonArrivals(peakPerSecond * FACTOR, windowMs);
  const { sent, sendingMs } = await offer(arrivals, "sleep", async (nth) => {
    const sentMs = performance.now();
    const { success, output, error } = await engine.execute({
      name: hurried(subject.name),
      arguments: subject.argumentsOf(nth),
    });
    const nowMs = performance.now();
    if (success && sumOf(output) === subject.expected(nth)) {
      times.served.push(nowMs - sentMs);
      if (nowMs <= endMs) good++;
    } else if (error?.code === "queue_full") times.full.push(nowMs - sentMs);
    else if (error?.code === "queue_timeout") times.late.push(nowMs - sentMs - queueMs);
    else throw new Error(`"${subject.name}" answered ${JSON.stringify(error ?? output)}`);
  });
  return {
    peakPerSecond,
    offeredPerSecond: (sent / sendingMs) * 1e3,
    goodPerSecond: (good / windowMs) * 1e3,
    refusedPercent: ((times.full.length + times.late.length) / sent) * 100,
    served: sampleOf(times.served),
    full: sampleOf(times.full),
    late: sampleOf(times.late),
  };
}

/** In milliseconds; `null` where there is nothing. */
function sampleOf(timesMs: number[]): Sample | null {
  if (timesMs.length === 0) return null;
  timesMs.sort((a, b) => a - b);
  return { value: percentile(timesMs, 0.5), p99: percentile(timesMs, 0.99) };
}

function rowsOf(subjects: readonly OverloadSubject[], rounds: Rounds<Found>): Row[] {
  const timeRows = (name: string, figure: (found: Found) => Sample | null): Row[] => {
    const samples = pick(rounds, figure);
    const found = subjects.filter((subject) => samples.has(subject.name));
    return summarize({ name, unit: "ms", better: "lower" }, found, samples);
  };
  const refused = { name: "refused_percent", unit: "%", better: "lower" } as const;
  return [
    ...rateRows(subjects, rounds),
    ...summarize(
      refused,
      subjects,
      pick(rounds, ({ refusedPercent }) => refusedPercent),
    ),
    ...timeRows("served_ms", ({ served }) => served),
    ...timeRows("queue_full_answered_ms", ({ full }) => full),
    ...timeRows("queue_timeout_late_ms", ({ late }) => late),
  ];
}

/** The three rates of each tool, the others as parts of its peak. */
function rateRows(subjects: readonly OverloadSubject[], rounds: Rounds<Found>): Row[] {
  const rates = [
    ["at its peak", ({ peakPerSecond }: Found) => peakPerSecond],
    ["offered", ({ offeredPerSecond }: Found) => offeredPerSecond],
    ["done when overloaded", ({ goodPerSecond }: Found) => goodPerSecond],
  ] as const;
  const compared = subjects.flatMap(({ name }) =>
    rates.map(([what], at) => ({ name: `${name}, ${what}`, against: at === 0 ? [] : [`${name}, ${rates[0][0]}`] })),
  );
  const samples = new Map(
    rates.flatMap(([what, figure]) =>
      [...pick(rounds, figure)].map(([name, picked]) => [`${name}, ${what}`, picked] as const),
    ),
  );
  return summarize({ name: "calls_per_second", unit: "/s", better: "higher" }, compared, samples);
}
