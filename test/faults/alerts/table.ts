/** All scenes on which alerts are brought about, in the order in which they are run. */
import type { AlertScene } from "./alert.ts";
import { CALLS } from "./call-trials.ts";
import { FLEET } from "./fleet-trials.ts";
import { SERVICE } from "./service-trials.ts";

export const ALERT_SCENES: readonly AlertScene[] = [SERVICE, CALLS, FLEET];

/** The alerts that some trial brings about, in the order of the trials. */
export const TRIED: readonly string[] = ALERT_SCENES.flatMap(({ trials }) => trials.flatMap(({ alerts }) => alerts));
