/** Runs a machine that only says what is asked of it, as `glovebox worker` runs one. */
import { Registry } from "prom-client";
import type { Machine } from "../../../src/fleet/machine/machine.ts";
import type { MachineStats } from "../../../src/fleet/machine/machine-stats.ts";
import { runWorker } from "../../../src/cli/worker-service.ts";

const [behaviour = "", drainMs = "100"] = process.argv.slice(2);
let isDraining = false;
/** As long as it is open, the process has something to do. */
const open = setInterval(() => undefined, 1_000);

function stats(): MachineStats {
  const executor = {
    isolates: { active: 0, warm: 0, blank: 0 },
    starts: new Map<string, number>(),
    heapBytes: new Map<string, number>(),
    rssBytes: 0,
    ready: true,
    spareReady: true,
    quarantined: [],
    sandbox: { kind: "off", reason: "it runs nothing" },
  } as const;
  return {
    id: "m1",
    isReady: true,
    isDraining,
    isRedisUp: true,
    problem: null,
    slots: 8,
    busySlots: 0,
    calls: 0,
    executor,
  };
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
