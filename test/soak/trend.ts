/** One measurement: after so many calls, so much. */
export interface Point {
  readonly calls: number;
  readonly value: number;
}

/** What may grow over the whole run without anybody calling it a leak. */
export interface Allowance {
  /** In the series' own unit. */
  readonly absolute: number;
  /** A part of the mean. */
  readonly share: number;
}

/**
 * `flat`: the line through the points rises by no more over the run than is allowed. `grows`: it rises by more, and by
 * more than the scatter of the points around it would explain. `unclear`: it rises by more, but the points scatter so
 * much that it may be chance: only a longer run can tell.
 */
export type Verdict = "flat" | "grows" | "unclear";

export interface Trend {
  readonly first: number;
  readonly last: number;
  readonly mean: number;
  readonly slopePer100k: number;
  /** The standard error of the slope: what the scatter alone may make of it. */
  readonly errorPer100k: number;
  readonly verdict: Verdict;
}

const POINTS_MIN = 5;
const UNIT_CALLS = 100_000;
/** A slope that is so many standard errors steep is no chance: below 1 in 100 runs for ten points, less for more. */
const ERRORS_MIN = 3;

/** Lays a line through the points by least squares, and says whether it is level. */
export function fitTrend(points: readonly Point[], allowed: Allowance): Trend {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < POINTS_MIN) {
    throw new RangeError(`a trend takes at least ${POINTS_MIN} points`);
  }
  const meanCalls = mean(points.map(({ calls }) => calls));
  const meanValue = mean(points.map(({ value }) => value));
  let spread = 0;
  let together = 0;
  for (const { calls, value } of points) {
    spread += (calls - meanCalls) ** 2;
    together += (calls - meanCalls) * (value - meanValue);
  }
  if (spread === 0) throw new RangeError("all points were taken after equally many calls");
  const slope = together / spread;
  let residue = 0;
  for (const { calls, value } of points) residue += (value - meanValue - slope * (calls - meanCalls)) ** 2;
  const error = Math.sqrt(residue / (points.length - 2) / spread);
  const rise = slope * (last.calls - first.calls);
  return {
    first: first.value,
    last: last.value,
    mean: meanValue,
    slopePer100k: slope * UNIT_CALLS,
    errorPer100k: error * UNIT_CALLS,
    verdict: judge(rise, Math.max(allowed.absolute, allowed.share * meanValue), slope, error),
  };
}

function judge(rise: number, allowed: number, slope: number, error: number): Verdict {
  if (rise <= allowed) return "flat";
  return slope > ERRORS_MIN * error ? "grows" : "unclear";
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
