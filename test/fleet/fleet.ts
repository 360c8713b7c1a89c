import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Engine } from "../../src/kernel/engine/engine.ts";
import { LocalEngine } from "../../src/kernel/engine/local-engine.ts";
import { type EngineOptions, type IdempotencyOptions, resolveOptions } from "../../src/kernel/engine/options.ts";
import { scaled } from "../../src/fleet/wire/fleet-timings.ts";
import { type RedisServer, startRedis } from "../redis-server.ts";
import { PLUGINS } from "../../src/standard/plugins.ts";

const MACHINE = new URL("./programs/machine.ts", import.meta.url).pathname;
const START_MS = 60_000;
/** Fleets of tests wait this much shorter than others. Less would be too little for a machine that is busy. */
export const SCALE = 0.2;
export const TIMINGS = scaled(SCALE);
/** How long tests wait for what a fleet comes to by itself, and how often they look. */
export const POLL = { timeout: 120_000, interval: 100 };

/** A worker machine in a process of its own. */
export interface MachineProcess extends AsyncDisposable {
  readonly id: string;
  readonly process: ChildProcess;
  /** Ends it, and waits until it has ended; answers with its exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | string | null>;
}

/** A Redis and worker machines of a test's own. */
export interface TestFleet extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly url: string;
  readonly name: string;
  readonly machines: MachineProcess[];
  /** Starts one more. */
  add(options?: MachineSettings): Promise<MachineProcess>;
}

export interface MachineSettings {
  readonly slots?: number;
  readonly workers?: number;
  readonly secret?: string;
  /** Where its servers keep how calls with keys ended. */
  readonly ledger?: IdempotencyOptions;
  readonly isLogged?: boolean;
  /** Of the fleet's timings. Default: that of all tests. */
  readonly scale?: number;
  /** What it has of time to drain after SIGTERM. */
  readonly drainMs?: number;
  /** Runs before the program: `ip netns exec NAME` for example. */
  readonly within?: readonly string[];
}

export async function startFleet(machines: number, settings: MachineSettings = {}): Promise<TestFleet> {
  const redis = await startRedis();
  const fleet: TestFleet = {
    redis,
    url: redis.url,
    name: "test",
    machines: [],
    add: async (more = {}) => {
      const machine = await startMachineProcess(redis.url, "test", { ...settings, ...more });
      fleet.machines.push(machine);
      return machine;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(fleet.machines.map((machine) => machine[Symbol.asyncDispose]()));
      await redis[Symbol.asyncDispose]();
    },
  };
  try {
    await Promise.all(Array.from({ length: machines }, () => fleet.add()));
  } catch (error) {
    await fleet[Symbol.asyncDispose]();
    throw error;
  }
  return fleet;
}

/** An engine; of a fleet, with the timings that the fleet's machines have. */
export function createFleetEngine(options: EngineOptions, scale = SCALE): Promise<Engine> {
  const all = { ...options, plugins: PLUGINS };
  const { executor, ...resolved } = resolveOptions(all);
  if (executor.kind !== "plugin") return LocalEngine.start(all, { ...resolved, executor });
  const own = { ...executor.own, timings: scaled(scale) };
  return LocalEngine.start(all, { ...resolved, executor: { ...executor, own } });
}

/** Resolves when the machine is ready. It is a process group of its own, so that killing it leaves nothing behind. */
export async function startMachineProcess(
  url: string,
  fleet: string,
  { within = [], ...settings }: MachineSettings = {},
): Promise<MachineProcess> {
  const [program, ...args] = [...within, process.execPath, "--no-warnings", MACHINE];
  const child = spawn(program, [...args, JSON.stringify({ url, fleet, scale: SCALE, ...settings })], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout);
  const line = once(lines, "line", { signal: AbortSignal.timeout(START_MS) });
  const ended = once(child, "exit").then(() => {
    throw new Error("the machine ended before it was ready");
  });
  const [id] = (await Promise.race([line, ended])) as [string];
  ended.catch(() => undefined);
  const end = async (signal: NodeJS.Signals): Promise<number | string | null> => {
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, "exit");
      child.kill(signal);
      await exit;
    }
    return child.exitCode ?? child.signalCode;
  };
  return { id, process: child, end, [Symbol.asyncDispose]: async () => void (await end("SIGKILL")) };
}
