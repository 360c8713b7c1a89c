import type { Level } from "./level.ts";

/** A test that does not pass for a reason that no experiment with a bare context shows. */
export interface Difference {
  /** Its path in the suite's folder `test`. */
  readonly name: string;
  readonly levels: readonly Level[];
  readonly kind: "refused" | "open";
  readonly reason: string;
}

export const DIFFERENCES: readonly Difference[] = [];
