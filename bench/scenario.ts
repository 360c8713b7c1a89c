/** A benchmark: a scenario, its two sizes, and its findings. */

/** `busy`: a spinning thread keeps the processor awake, so that no call pays for waking it. */
export type MachineState = "quiet" | "busy";

/** How much is measured. Scenarios add parameters of their own. */
export interface Effort {
  /** The whole is done once in each of them. */
  readonly states: readonly MachineState[];
  /** Times that every subject is measured; a row shows the median of them. */
  readonly rounds: number;
  /** Duration of one measurement. */
  readonly sampleMs: number;
}

/** One subject's result for one metric. */
export interface Row {
  readonly subject: string;
  readonly metric: string;
  readonly unit: string;
  readonly better: "lower" | "higher";
  /** Over the rounds: their median, and the least and the greatest of them. */
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Of single calls, where they were timed one by one: the medians of the rounds' percentiles. */
  readonly p50?: number;
  readonly p99?: number;
  /** The subject's value divided by the baseline's, computed in each round; the median of the rounds. */
  readonly ratios: { readonly [baseline: string]: number };
  /** The middle half of the rounds' ratios; older results have none. */
  readonly ratioQuartiles?: { readonly [baseline: string]: readonly [lower: number, upper: number] };
}

export interface Findings {
  readonly rows: readonly Row[];
  /** Digest of answers that the subjects gave: the same in every run. */
  readonly checksum: string;
}

export interface Context<Size extends Effort = Effort> {
  readonly size: Size;
  readonly state: MachineState;
  /** Says what is being done, for a person who waits. */
  readonly progress: (text: string) => void;
}

/** A benchmark. The smoke size proves that it works and measures nothing; only the full size gives numbers to quote. */
export interface Scenario<Size extends Effort = Effort> {
  readonly name: string;
  readonly description: string;
  readonly smoke: Size;
  readonly full: Size;
  // A method, so that scenarios with parameters of their own fit into one list: each gets its own sizes back.
  run(context: Context<Size>): Promise<Findings>;
}
