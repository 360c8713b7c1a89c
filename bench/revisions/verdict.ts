import { median } from "../statistics.ts";

/** Two revisions in one metric, over the rounds of one run. */
export interface Verdict {
  /** This revision's cost divided by the other's, in each round; the median of the rounds. Above 1: slower. */
  readonly ratio: number;
  /** Where the true median of the ratios lies with a probability of 95 %; of few rounds, their least and greatest. */
  readonly interval: readonly [low: number, high: number];
  /** Whether the whole interval is above the bound: slower beyond noise. */
  readonly isSlower: boolean;
}

/** Share of the cases in which the interval does not hold the true median, on one side. */
const TAIL = 0.025;

/** `costs`: of each round, this revision's and the other's. `bound`: the ratio that is allowed. */
export function judge(costs: readonly (readonly [own: number, other: number])[], bound: number): Verdict {
  const ratios = costs.map(([own, other]) => own / other).toSorted((a, b) => a - b);
  const skipped = ranksToSkip(ratios.length);
  const [low = Number.NaN] = ratios.slice(skipped);
  const high = ratios.at(-1 - skipped) ?? Number.NaN;
  return { ratio: median(ratios), interval: [low, high], isSlower: low > bound };
}

/**
 * The number of values to leave out at each end so that the rest still holds the true median with 95 %: each value is
 * above it like a coin shows heads, whatever the distribution.
 */
function ranksToSkip(count: number): number {
  let chance = 0.5 ** count;
  let sum = chance;
  for (let skipped = 0; ; skipped++) {
    chance *= (count - skipped) / (skipped + 1);
    sum += chance;
    if (sum > TAIL) return skipped;
  }
}
