// needs: prometheus
import { expect, test } from "vitest";
import { byLength } from "../../length.ts";
import { Dice } from "../../load/dice.ts";
import { isPossible } from "../outcomes.ts";
import type { AlertOutcome } from "./alert.ts";
import { measureAlerts } from "./measure.ts";
import { ALERT_SCENES } from "./table.ts";

/** In every run one fault of two scenes, the same ones until the seed is another: some 40 s. */
const SEED = 6;
const SCENES = 2;
const dice = new Dice(SEED);
const possible = ALERT_SCENES.filter(isPossible);
const some = possible.slice(0, SCENES).map((scene) => ({ ...scene, trials: [dice.pick(scene.trials)] }));
const trials = byLength(some, possible).flatMap((scene) => scene.trials.map((trial) => ({ scene, trial })));

test.each(trials.map(({ scene, trial }) => [trial.alerts.join(", "), trial.fault, scene, trial] as const))(
  "%s: there while %s lasts, and gone after it",
  async (_alerts, _fault, scene, trial) => {
    const outcomes: AlertOutcome[] = [];
    await measureAlerts(scene, [trial], (outcome) => outcomes.push(outcome));
    expect(outcomes.filter(({ firedMs, clearedMs }) => firedMs === null || clearedMs === null)).toEqual([]);
    expect(outcomes.map(({ alert }) => alert)).toEqual(trial.alerts);
  },
);
