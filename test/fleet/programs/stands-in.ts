/** Runs a machine that only says what is asked of it, as `glovebox worker` runs one. */
import { Registry } from "prom-client";
import type { Machine } from "../../../src/fleet/machine/machine.ts";
import type { MachineStats } from "../../../src/fleet/machine/machine-stats.ts";
import { READY } from "../machine/ready-machine.ts";
import { runWorker } from "../../../src/cli/worker-service.ts";

const [behaviour = "", drainMs = "100"] = process.argv.slice(2);
let isDraining = false;
/** As long as it is open, the process has something to do. */
const open = setInterval(() => undefined, 1_000);

function stats(): MachineStats {
  return { ...READY, isDraining };
}

const machine: Machine = {
  stats,
  registry: new Registry(),
  drain: async (ms) => {
    isDraining = true;
    console.error(`drain ${ms}`);
    if (behaviour === "never-drains") await new Promise(() => undefined);
    if (behaviour === "drains-slowly") await new Promise((resolve) => process.stdin.once("data", resolve));
  },
  close: () => {
    console.error("close");
    if (behaviour === "fails") return Promise.reject(new Error("it cannot close"));
    clearInterval(open);
    return Promise.resolve();
  },
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

function start(): Promise<Machine> {
  console.error("begun");
  if (behaviour === "never-starts") return new Promise(() => undefined);
  return Promise.resolve(machine);
}

await runWorker(start, { fleet: "blue", host: "127.0.0.1", port: 0, drainMs: Number(drainMs) });
