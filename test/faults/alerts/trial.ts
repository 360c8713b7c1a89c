import type { Heal, RunningFault } from "../fault.ts";
import { configOf } from "../disk.ts";
import type { Scene } from "../scene.ts";
import { CONFIG } from "../server-faults.ts";
import type { Trial } from "./alert.ts";
import type { Watch } from "./watch.ts";

const NEEDED_MS = 60_000;

/** A fault of the table of faults, which somebody has to heal. */
export function known(
  faults: readonly RunningFault[],
  fault: string,
  { alerts, heals }: Pick<Trial, "alerts" | "heals">,
): Trial {
  const found = faults.find(({ name }) => name === fault);
  if (found === undefined) throw new RangeError(`there is no fault ${fault}`);
  const { what, bring } = found;
  return {
    alerts,
    fault,
    what,
    heals,
    bring: async ({ scene, callers }) => {
      const heal = await bring(scene, callers);
      if (heal === null) throw new RangeError(`${fault} is over by itself`);
      return heal;
    },
  };
}

/** Starts the server again with another configuration; heals it with the one before. */
export async function restarted(scene: Scene, change: (config: string) => string): Promise<Heal> {
  const before = configOf(scene);
  const apply = async (text: string): Promise<void> => {
    scene.write(CONFIG, text);
    await scene.server.end("SIGTERM");
    await scene.restart();
  };
  await apply(change(before));
  return () => apply(before);
}

/** Waits for something without which there is no fault. */
export async function needed(watch: Watch, what: string, isSo: () => Promise<boolean>): Promise<void> {
  if ((await watch.until(isSo, NEEDED_MS)) === null) throw new Error(`${what} does not come`);
}
