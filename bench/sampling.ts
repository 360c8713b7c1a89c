import { createHash } from "node:crypto";
import { Bench } from "tinybench";
import { cpuTimeUs } from "./cpu-time.ts";
import { inRounds, pick, type Rounds } from "./rounds.ts";
import type { Context, Findings, Row } from "./scenario.ts";
import { type Compared, type Metric, type Sample, summarize } from "./statistics.ts";

/** Something that does a piece of work again and again, and proves each time that it did. */
export interface Subject extends Compared {
  /** The n-th piece of work; the answer is compared with the plan's `expected`. */
  readonly run: (index: number) => number | Promise<number>;
  /** Whether `run` never answers a promise: then it is measured without one. */
  readonly sync?: boolean;
  /** Done around each piece of work, outside the measured time. Only for plans without `concurrencies`. */
  readonly before?: () => Promise<void>;
  readonly after?: () => Promise<void>;
}

/** The answer to the n-th piece of work. */
export type Expected = (index: number) => number;

/** Samples of several subjects. */
export interface Plan {
  readonly subjects: readonly Subject[];
  readonly expected: Expected;
  /** The time of single calls, one after the other. */
  readonly latency?: { readonly name: string; readonly unit: "us" | "ms" };
  /** Calls per second with so many calls in flight. */
  readonly concurrencies?: readonly number[];
  /** Concurrency at which the processor time of a call is measured as well. */
  readonly cpuConcurrency?: number;
  /** Put behind the names of the metrics. */
  readonly suffix?: string;
}

/** Calls of each subject that go into the checksum. */
const PROBES = 4;
/** Arguments repeat after so many calls, which keeps them small integers. */
export const INDEX_CYCLE = 1_024;
/** Calls that a latency sample has at least: slow work must not end with a single one. */
const LATENCY_CALLS_MIN = 3;
/** Shorter samples are those of smoke runs, which may. */
const LATENCY_MS_MIN = 100;

/** Measures everything in the plan: round by round, in reversed order every other round. */
export async function measure(context: Context, plan: Plan): Promise<Findings> {
  const { state } = context;
  const suffix = plan.suffix ?? "";
  const checksum = await probe(plan.subjects, plan.expected);
  const rows: Row[] = [];
  if (plan.latency !== undefined) {
    const { name, unit } = plan.latency;
    const metric: Metric = { name: `${name}${suffix}`, unit, better: "lower" };
    const perUnit = unit === "us" ? 1e3 : 1;
    const samples = await inRounds(context, plan.subjects, metric.name, async (subject, ms) => {
      const { p50, p99 } = await sampleLatency(subject, plan.expected, ms);
      return { value: p50 * perUnit, p99: p99 * perUnit };
    });
    rows.push(...summarize(metric, plan.subjects, samples));
  }
  for (const concurrency of plan.concurrencies ?? []) {
    const tail = `c${concurrency}${suffix}`;
    const metric: Metric = { name: `calls_per_second_${tail}`, unit: "/s", better: "higher" };
    const samples = await inRounds(context, plan.subjects, metric.name, (subject, ms) =>
      sampleThroughput(subject, plan.expected, concurrency, ms),
    );
    rows.push(...summarize(metric, plan.subjects, samples));
    // The spinning thread's own time would drown everything else.
    if (concurrency !== plan.cpuConcurrency || state === "busy") continue;
    rows.push(...cpuRows(`cpu_us_per_call_${tail}`, plan.subjects, samples));
  }
  return { rows, checksum };
}

/** One checksum for findings that were made one after the other. */
export function combine(parts: readonly Findings[]): Findings {
  const hash = createHash("sha256");
  for (const { checksum } of parts) hash.update(checksum);
  return { rows: parts.flatMap(({ rows }) => rows), checksum: shorten(hash.digest("hex")) };
}

/** A digest of a list of answers. */
export function digest(answers: readonly (number | string)[]): string {
  return shorten(createHash("sha256").update(answers.join("\n")).digest("hex"));
}

function shorten(hex: string): string {
  return hex.slice(0, 16);
}

function verify(subject: Subject, expected: number, answer: number): void {
  if (answer !== expected) throw new Error(`"${subject.name}" answered ${answer} instead of ${expected}`);
}

/** Does the n-th piece of work of a series that has no end, and checks it. */
export async function runChecked(subject: Subject, expected: Expected, nth: number): Promise<void> {
  const index = nth % INDEX_CYCLE;
  verify(subject, expected(index), await subject.run(index));
}

/** Digest of each subject's first answers. */
export async function probe(subjects: readonly Subject[], expected: Expected): Promise<string> {
  const answers: number[] = [];
  for (const subject of subjects) {
    for (let index = 0; index < PROBES; index++) {
      await subject.before?.();
      const answer = await subject.run(index);
      await subject.after?.();
      verify(subject, expected(index), answer);
      answers.push(answer);
    }
  }
  return digest(answers);
}

/** Percentiles of single calls, one after the other, in milliseconds. */
export async function sampleLatency(subject: Subject, expected: Expected, sampleMs: number) {
  const iterations = sampleMs < LATENCY_MS_MIN ? 1 : LATENCY_CALLS_MIN;
  const bench = new Bench({ time: sampleMs, iterations, warmup: false, throws: true });
  const { before, after } = subject;
  let calls = 0;
  const hooks = {
    ...(before === undefined ? {} : { beforeEach: before }),
    ...(after === undefined ? {} : { afterEach: after }),
  };
  if (subject.sync) {
    const work = () => {
      const index = calls++ % INDEX_CYCLE;
      verify(subject, expected(index), subject.run(index) as number);
    };
    bench.add(subject.name, work, { ...hooks, async: false });
  } else {
    const work = () => runChecked(subject, expected, calls++);
    bench.add(subject.name, work, { ...hooks, async: true });
  }
  const [task] = await bench.run();
  if (task?.result.state !== "completed") throw new Error(`"${subject.name}" could not be measured`);
  return task.result.latency;
}

export interface Throughput extends Sample {
  readonly cpuUsPerCall: number | null;
}

/** Calls per second, with so many loops that each wait for one call at a time. */
export async function sampleThroughput(
  subject: Subject,
  expected: Expected,
  concurrency: number,
  sampleMs: number,
): Promise<Throughput> {
  let calls = 0;
  const cpuBefore = cpuTimeUs();
  const startMs = performance.now();
  const endMs = startMs + sampleMs;
  const loop = async () => {
    // The clock is asked instead of a timer: work that answers at once would never let a timer fire. A machine that does
    // other work in a short sample still gives it a call.
    do {
      const index = calls++ % INDEX_CYCLE;
      verify(subject, expected(index), await subject.run(index));
    } while (performance.now() < endMs);
  };
  await Promise.all(Array.from({ length: subject.sync ? 1 : concurrency }, loop));
  const elapsedMs = performance.now() - startMs;
  const cpuAfter = cpuTimeUs();
  const cpuUsPerCall = cpuBefore === null || cpuAfter === null ? null : (cpuAfter - cpuBefore) / calls;
  return { value: (calls / elapsedMs) * 1e3, cpuUsPerCall };
}

/** Processor time of a call over all processes; no rows where the system does not tell. */
function cpuRows(name: string, subjects: readonly Subject[], rounds: Rounds<Throughput>): Row[] {
  const samples = pick(rounds, ({ cpuUsPerCall }) => cpuUsPerCall);
  if (samples.size < subjects.length) return [];
  return summarize({ name, unit: "us", better: "lower" }, subjects, samples);
}
