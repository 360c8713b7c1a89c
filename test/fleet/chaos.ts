import { setTimeout as delay } from "node:timers/promises";
import { Dice } from "../load/dice.ts";
import { AppendOnlyFile } from "./append-only-file.ts";
import { type MachineProcess, startFleet, type TestFleet } from "./fleet.ts";
import { SteadyLoad, type SteadyReport } from "./steady-load.ts";
import { type FleetWatch, watchFleet } from "./watched-fleet.ts";

/** How long Redis is away each time: much less than a server waits before it gives its calls up. */
const AWAY_MS = 1_000;
/** As much as it may have written without having asked for it to be on the disk: see `appendfsync`. */
const FORGETS_MS = 1_000;
/** How long jobs may be there whose calls have ended: a machine that was killed held them until its locks expired. */
const ENDING_MS = 120_000;
const LOOK_EVERY_MS = 200;
const MACHINE = { slots: 8, workers: 1 };

/** It is told to end, or killed; and where its machine loses its power, it also forgets what it wrote last. */
export const REDIS_ENDS = ["SIGTERM", "SIGKILL", "power"] as const;
export type RedisEnd = (typeof REDIS_ENDS)[number];

export interface ChaosOptions {
  /** At the least: a busy machine takes longer for all that is to happen. */
  readonly seconds: number;
  /** How often machines have to be killed. Default: as it comes. */
  readonly kills?: number;
  readonly seed: number;
  readonly machines: number;
  readonly killEveryMs: number;
  /** How Redis is ended each time, spread evenly over the run. */
  readonly redisEnds: readonly RedisEnd[];
}

export interface FleetChaosReport extends SteadyReport {
  readonly seed: number;
  readonly seconds: number;
  readonly kills: number;
  readonly redisRestarts: number;
  /** Bytes that Redis had written and lost. */
  readonly forgotten: number;
  /** Calls that ended while machines were killed, second by second. */
  readonly endedInSeconds: readonly number[];
}

/** A fleet under load whose machines are killed and replaced, and whose Redis is ended and started again. */
export async function runFleetChaos(options: ChaosOptions): Promise<FleetChaosReport> {
  const { seconds, kills = 0, seed, machines, killEveryMs, redisEnds } = options;
  const dice = new Dice(seed);
  await using fleet = await startFleet(machines, MACHINE);
  // Lines of a call that are on their way are in what a Redis without power forgets.
  const isLossy = redisEnds.includes("power");
  await using load = await SteadyLoad.start({ url: fleet.url, fleet: fleet.name, dice: dice.fork(), isLossy });
  await using watch = watchFleet(fleet);
  const supervisor = new Supervisor(fleet, dice.fork());
  const end = new AbortController();
  const over = end.signal;
  const startMs = performance.now();
  const endedInSeconds: number[] = [];
  using file = new AppendOnlyFile(fleet.redis);
  let [redisRestarts, forgotten] = [0, 0];
  const restartMs = (seconds * 1_000) / (redisEnds.length + 1);
  await Promise.all([
    every(killEveryMs, over, () => supervisor.strike()),
    every(restartMs, over, async () => {
      const how = redisEnds[redisRestarts];
      if (how === undefined) return;
      await fleet.redis.stop(how === "power" ? "SIGKILL" : how);
      if (how === "power") forgotten += await file.forget(FORGETS_MS);
      await delay(AWAY_MS);
      await fleet.redis.start();
      redisRestarts++;
    }),
    every(1_000, over, () => {
      endedInSeconds.push(load.ended);
      const isOver = performance.now() - startMs >= seconds * 1_000;
      if (isOver && supervisor.kills >= kills && redisRestarts === redisEnds.length) end.abort();
    }),
  ]);
  const report = await load.end();
  const left = await leftOf(watch);
  await supervisor.settled();
  return {
    seed,
    seconds,
    kills: supervisor.kills,
    redisRestarts,
    forgotten,
    endedInSeconds,
    ...report,
    violations: [...report.violations, ...left],
  };
}

/** What is still in Redis once all calls have ended, and machines have had time to say so. */
async function leftOf(watch: FleetWatch): Promise<readonly string[]> {
  const untilMs = performance.now() + ENDING_MS;
  while ((await watch.jobs()) > 0 && performance.now() < untilMs) await delay(LOOK_EVERY_MS);
  const jobs = await watch.jobs();
  const lasting = await watch.lasting();
  return [
    ...(jobs === 0 ? [] : [`${jobs} jobs are left in the queue`]),
    ...lasting.map((name) => `key ${name} never expires`),
  ];
}

/** Kills machines, and starts another for each at once, as an orchestrator would. */
class Supervisor {
  readonly #fleet: TestFleet;
  readonly #dice: Dice;
  readonly #starting = new Set<Promise<unknown>>();
  kills = 0;

  constructor(fleet: TestFleet, dice: Dice) {
    this.#fleet = fleet;
    this.#dice = dice;
  }

  async strike(): Promise<void> {
    const living = this.#fleet.machines.filter(isLiving);
    if (living.length === 0) return;
    this.kills++;
    const next = this.#fleet.add().finally(() => this.#starting.delete(next));
    this.#starting.add(next);
    await this.#dice.pick(living).end("SIGKILL");
  }

  async settled(): Promise<void> {
    await Promise.all(this.#starting);
  }
}

function isLiving({ process: { exitCode, signalCode } }: MachineProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** At fixed times from now on, however long the last one took, until the signal comes. */
async function every(intervalMs: number, over: AbortSignal, act: () => void | Promise<void>): Promise<void> {
  const startMs = performance.now();
  for (let tick = 1; ; tick++) {
    const waitMs = Math.max(0, startMs + tick * intervalMs - performance.now());
    await delay(waitMs, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return;
    await act();
  }
}
