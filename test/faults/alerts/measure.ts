/** Brings alerts about: the fault, until Prometheus has them fire; its end, until they are gone. */
import { Callers } from "../callers.ts";
import { untilWell } from "../measure.ts";
import { openScene } from "../scene.ts";
import type { AlertOutcome, AlertScene, Stage, Trial } from "./alert.ts";
import { watchScene } from "./watch.ts";

/** For how long an alert is waited for: the machine may be busy with other things. */
const FIRES_MS = 90_000;
const CLEARS_MS = 90_000;

/** Makes trials on a scene of their own, one after the other, and tells what became of each alert. */
export async function measureAlerts(
  { name, settings }: AlertScene,
  trials: readonly Trial[],
  tell: (outcome: AlertOutcome) => void,
): Promise<void> {
  await using scene = await openScene(settings);
  if (!(await untilWell(scene, null))) throw new Error(`${name}: the scene was not well before all faults`);
  await using watch = await watchScene(scene);
  const callers = new Callers(() => scene.server.url);
  try {
    for (const trial of trials) for (const outcome of await measure(trial, { scene, watch, callers })) tell(outcome);
  } finally {
    await callers.end();
  }
}

async function measure({ alerts, fault, what, heals, bring }: Trial, stage: Stage): Promise<readonly AlertOutcome[]> {
  const { watch } = stage;
  const isGone = async (alert: string): Promise<boolean> => {
    if (!(await watch.seesServer())) return false;
    const { firing, pending } = await watch.active();
    return !firing.has(alert) && !pending.has(alert);
  };
  const areGone = await watch.until(async () => (await Promise.all(alerts.map(isGone))).every(Boolean), CLEARS_MS);
  if (areGone === null) throw new Error(`${alerts.join(", ")}: there without the fault ${fault}`);
  const { firing: before } = await watch.active();
  const heal = await bring(stage);
  const isFiring = async (alert: string): Promise<boolean> => (await watch.active()).firing.has(alert);
  const fired = await Promise.all(alerts.map((alert) => watch.until(() => isFiring(alert), FIRES_MS)));
  const { firing: during } = await watch.active();
  const healMs = performance.now();
  await heal();
  const healedMs = Math.round(performance.now() - healMs);
  const cleared = await Promise.all(alerts.map((alert) => watch.until(() => isGone(alert), CLEARS_MS)));
  const besides = [...during]
    .filter((alert) => !alerts.includes(alert) && !before.has(alert))
    .toSorted()
    .join(", ");
  return alerts.map((alert, at) => ({
    alert,
    fault,
    what,
    heals,
    firedMs: fired[at] ?? null,
    clearedMs: addTo(healedMs, cleared[at] ?? null),
    besides,
  }));
}

function addTo(ms: number, more: number | null): number | null {
  return more === null ? null : ms + more;
}
