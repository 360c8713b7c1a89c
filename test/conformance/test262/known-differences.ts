import type { Level } from "./level.ts";

/** A test that does not pass for a reason that no experiment with a bare context shows. */
export interface Difference {
  /** Its path in the suite's folder `test`. */
  readonly name: string;
  readonly levels: readonly Level[];
  readonly kind: "refused" | "open";
  readonly reason: string;
}

/** Frozen built-ins make these fail as well, in words that contain the text of the function. */
const TEXT_OF_DATE = "it shows the text of `Date`, which is the engine's own function, and an accessor in its place";

/** Of the whole suite, not only of the share of it that usually runs. */
export const DIFFERENCES: readonly Difference[] = [
  {
    name: "built-ins/Date/prototype/constructor/prop-desc.js",
    levels: ["instance"],
    kind: "refused",
    reason: TEXT_OF_DATE,
  },
  {
    name: "built-ins/Object/getOwnPropertyDescriptor/15.2.3.3-4-116.js",
    levels: ["instance"],
    kind: "refused",
    reason: TEXT_OF_DATE,
  },
];
