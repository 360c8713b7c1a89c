/** Alerts on a fleet: its Redis, its machines. */
import { ask } from "../callers.ts";
import { REDIS_FAULTS } from "../redis-faults.ts";
import { type Scene, scrapeOf, type Service } from "../scene.ts";
import type { AlertScene, Stage, Trial } from "./alert.ts";
import { flood } from "./flood.ts";
import { known, needed } from "./trial.ts";

const BUSY_CALLS = 25;
const REST = `export const spec = { name: "rest", description: "Rests.", limits: { wallMs: 60000 } };
export default ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, "rested"));\n`;

const OF_REDIS: readonly Trial[] = [
  known(REDIS_FAULTS, "redis-killed", {
    alerts: ["GloveboxRedisLost", "GloveboxMachineWithoutRedis", "GloveboxStoreWithoutRedis"],
    heals: "It is started again.",
  }),
];

const OF_MACHINES: readonly Trial[] = [
  {
    alerts: ["GloveboxFleetWaits"],
    fault: "fleet-flooded",
    what: "Callers ask for more than the only machine can do.",
    heals: "They stop.",
    bring: async ({ scene }) =>
      flood(60, 50, () => ask(scene.server.url, { name: "rest", key: null, args: { ms: 2_000 } })),
  },
  {
    alerts: ["GloveboxConfigDiffers"],
    fault: "machine-configured-otherwise",
    what: "A machine comes that has another limit of processor time (`limits.cpuMs`).",
    heals: "It ends.",
    bring: async ({ scene, watch }) => {
      const machine = await scene.addMachine({ GLOVEBOX_LIMITS__CPU_MS: "1234" });
      watch.aim();
      return () => machine.end("SIGTERM");
    },
  },
  {
    alerts: ["GloveboxMachinesLost"],
    fault: "machine-killed-busy",
    what: "The only machine is killed (SIGKILL) while it runs more than 20 calls, and another one comes.",
    heals: "Ten minutes without another loss.",
    bring: async (stage) => {
      const { scene, watch } = stage;
      const over = flood(40, 50, () => ask(scene.server.url, { name: "rest", key: null, args: { ms: 3_000 } }));
      for (const machine of scene.machines.filter(isRunning))
        await needed(watch, "a busy machine", () => isBusy(machine));
      await endMachines(scene, "SIGKILL");
      await addMachine(stage);
      return over;
    },
  },
  {
    alerts: ["GloveboxNoMachine"],
    fault: "machines-gone",
    what: "All machines are killed (SIGKILL).",
    heals: "Another machine comes.",
    bring: async (stage) => {
      await endMachines(stage.scene, "SIGKILL");
      return () => addMachine(stage);
    },
  },
];

const isRunning = ({ child }: Service): boolean => child.exitCode === null && child.signalCode === null;

async function endMachines({ machines }: Scene, signal: NodeJS.Signals): Promise<void> {
  await Promise.all(machines.map((machine) => machine.end(signal)));
}

async function addMachine({ scene, watch }: Stage): Promise<void> {
  await scene.addMachine();
  watch.aim();
}

/** Whether a machine runs more calls than an alert takes for few. */
async function isBusy(machine: Service): Promise<boolean> {
  const calls = /^glovebox_machine_calls_in_flight (\d+)/m.exec(await scrapeOf(machine))?.[1];
  return Number(calls ?? 0) >= BUSY_CALLS;
}

/** A server, a machine, and a Redis that has idempotency keys as well. */
export const FLEET: AlertScene = {
  name: "fleet",
  needs: ["redis", "prometheus"],
  settings: { machines: 1, files: () => ({ "tools/rest.js": REST }) },
  trials: [...OF_MACHINES, ...OF_REDIS],
};
