import type { Stage } from "../stage.ts";

/** An attack that takes more than one call. It notes as `harm` whatever should not have happened. */
export interface Scene {
  /** A sentence about what is tried. */
  readonly name: string;
  readonly act: (stage: Stage, harm: string[]) => Promise<void>;
}
