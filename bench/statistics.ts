import type { Row } from "./scenario.ts";

/** What one round found for one subject. */
export interface Sample {
  readonly value: number;
  readonly p99?: number;
}

/** Name of a metric and how to read it. */
export interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly better: "lower" | "higher";
}

/** A subject and the baselines that it is compared with. */
export interface Compared {
  readonly name: string;
  readonly against: readonly string[];
}

/** Number of rounds from which the middle half of them says something. */
const QUARTILES_FROM = 4;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError("there is no median of nothing");
  return (upper + lower) / 2;
}

/** The value that a share of them is at most. Takes them in ascending order. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new RangeError("there is no percentile of nothing");
  return value;
}

/** The lower and the upper quartile. Takes values in ascending order. */
function quartiles(sorted: readonly number[]): readonly [number, number] {
  return [percentile(sorted, 0.25), percentile(sorted, 0.75)];
}

/** Turns each subject's samples, one of every round, into a row. */
export function summarize(
  metric: Metric,
  subjects: readonly Compared[],
  samples: ReadonlyMap<string, readonly Sample[]>,
): Row[] {
  const of = (name: string): readonly Sample[] => {
    const found = samples.get(name);
    if (found === undefined) throw new Error(`"${name}" was not measured for ${metric.name}`);
    return found;
  };
  return subjects.map(({ name, against }) => {
    const own = of(name);
    const values = own.map(({ value }) => value);
    const ratios = against.flatMap((baseline) => {
      const found = ratiosOf(values, of(baseline)).toSorted((a, b) => a - b);
      return found.length === 0 ? [] : [[baseline, found] as const];
    });
    const tails = own.flatMap(({ p99 }) => (p99 === undefined ? [] : [p99]));
    return {
      subject: name,
      metric: metric.name,
      unit: metric.unit,
      better: metric.better,
      median: median(values),
      min: Math.min(...values),
      max: Math.max(...values),
      ...(tails.length > 0 ? { p50: median(values), p99: median(tails) } : {}),
      ratios: Object.fromEntries(ratios.map(([baseline, found]) => [baseline, median(found)])),
      ...(own.length >= QUARTILES_FROM
        ? { ratioQuartiles: Object.fromEntries(ratios.map(([baseline, found]) => [baseline, quartiles(found)])) }
        : {}),
    };
  });
}

/**
 * Rounds are compared with themselves: what slows a whole round down cancels out. A round in which the baseline did
 * nothing, because the machine stood still, compares nothing.
 */
function ratiosOf(values: readonly number[], baseline: readonly Sample[]): number[] {
  return values.flatMap((value, round) => {
    const base = baseline[round]?.value;
    return base === undefined || base === 0 ? [] : [value / base];
  });
}
