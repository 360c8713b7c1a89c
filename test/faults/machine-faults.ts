/** Faults of a fleet's machines, and of its server. */
import { executors } from "../processes.ts";
import type { RunningFault, Sees } from "./fault.ts";
import type { Scene, Service } from "./scene.ts";
import { EXECUTOR_LOST } from "./server-faults.ts";

const ALONE = { machines: 1 };
const TWO = { machines: 2 };
const ONE_LEFT: Sees = { log: /a worker machine left the fleet/, metric: /^glovebox_fleet_machines 1/ };

function firstOf({ machines: [first] }: Scene): Service {
  if (first === undefined) throw new Error("this scene has no machine");
  return first;
}

export const MACHINE_FAULTS: readonly RunningFault[] = [
  {
    name: "machine-killed",
    place: "machine",
    what: "One of two machines is killed (SIGKILL).",
    needs: ["redis"],
    settings: TWO,
    bring: async (scene) => {
      await firstOf(scene).end("SIGKILL");
      return null;
    },
    sees: ONE_LEFT,
  },
  {
    name: "machine-stopped",
    place: "machine",
    what: "One of two machines is told to end (SIGTERM).",
    needs: ["redis"],
    settings: TWO,
    bring: async (scene) => {
      await firstOf(scene).end("SIGTERM");
      return null;
    },
    sees: ONE_LEFT,
  },
  {
    name: "machine-paused",
    place: "machine",
    what: "One of two machines is paused (SIGSTOP), and goes on later.",
    needs: ["redis"],
    settings: TWO,
    bring: async (scene) => {
      const { pid } = firstOf(scene);
      process.kill(pid, "SIGSTOP");
      return async () => void process.kill(pid, "SIGCONT");
    },
    sees: ONE_LEFT,
  },
  {
    name: "machines-gone",
    place: "machine",
    what: "The only machine is killed, and another one comes later.",
    needs: ["redis"],
    settings: ALONE,
    bring: async (scene) => {
      await firstOf(scene).end("SIGKILL");
      return async () => void (await scene.addMachine());
    },
    sees: {
      log: /a worker machine left the fleet/,
      metric: /^glovebox_fleet_machines 0/,
      ready: { status: 503, says: /machine/ },
    },
  },
  {
    name: "machine-executors-killed",
    place: "machine",
    what: "All executors of the only machine are killed (SIGKILL).",
    needs: ["redis"],
    settings: ALONE,
    bring: async (scene) => {
      for (const pid of executors(firstOf(scene).pid)) process.kill(pid, "SIGKILL");
      return null;
    },
    sees: EXECUTOR_LOST,
  },
  {
    name: "fleet-server-killed",
    place: "machine",
    what: "The server of a fleet is killed (SIGKILL), and a supervisor starts it again.",
    needs: ["redis"],
    settings: ALONE,
    bring: async (scene) => {
      await scene.server.end("SIGKILL");
      return () => scene.restart();
    },
    sees: { code: "no connection", metric: /^up 0/, ready: { status: 0 } },
  },
];
