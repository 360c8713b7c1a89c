import type { Callers } from "../callers.ts";
import type { Heal, Need } from "../fault.ts";
import { OutcomeFile } from "../outcome-file.ts";
import type { Scene, SceneSettings } from "../scene.ts";
import type { Watch } from "./watch.ts";

/** A scene with load, and a Prometheus that watches it. */
export interface Stage {
  readonly scene: Scene;
  readonly callers: Callers;
  readonly watch: Watch;
}

/** A fault that alerts tell of. */
export interface Trial {
  /** Those that have to fire, and to clear. */
  readonly alerts: readonly [string, ...string[]];
  /** Name of the fault: one of the table of faults, or one of its own. */
  readonly fault: string;
  /** The harm that is done, as a sentence of the page. */
  readonly what: string;
  /** What ends it, as a sentence of the page. */
  readonly heals: string;
  readonly bring: (stage: Stage) => Promise<Heal>;
}

/** Trials that are made on one scene, one after the other. */
export interface AlertScene {
  readonly name: string;
  readonly needs: readonly Need[];
  readonly settings: SceneSettings;
  readonly trials: readonly Trial[];
}

/** What became of an alert. */
export interface AlertOutcome extends Pick<Trial, "fault" | "what" | "heals"> {
  readonly alert: string;
  /** Time from the fault until it fired, in milliseconds; `null` where it did not. */
  readonly firedMs: number | null;
  /** Time from the repair until it was gone, in milliseconds; `null` where it stayed. */
  readonly clearedMs: number | null;
  /** Other alerts that fired with the fault, with commas between them. */
  readonly besides: string;
}

export const alertOutcomes = new OutcomeFile<AlertOutcome>(
  new URL("outcomes.json", import.meta.url),
  ({ alert }) => alert,
);
