/** Which fleets are looked at, on paper and in simulated time. */
import type { Costs, OperationName } from "./costs.ts";
import { fleetOf, type Fleet, type Mix, MIXES } from "./mixes.ts";
import {
  type Bounds,
  boundsOf,
  callCost,
  demandOf,
  idleShare,
  machinesPerRedis,
  nothingShared,
  redisUsByOperation,
} from "./model.ts";
import { type Outcome, type Settings, simulate } from "./simulate.ts";

/** One Redis on paper, with a mix of calls in batches of one size. */
export interface Paper {
  readonly mix: string;
  readonly callsPerJob: number;
  /** Of a job of the mix's first kind of calls. */
  readonly redisUsPerJob: Readonly<Record<OperationName, number>>;
  readonly redisUsPerCall: number;
  /** What one Redis can bear. */
  readonly callsPerSecond: number;
  readonly jobsPerSecond: number;
  /** What goes over its network then. */
  readonly wireMbPerSecond: number;
  /** How many machines are busy then. */
  readonly machines: number;
}

/** What a fleet takes of its Redis by being there. */
export interface Idle {
  readonly machines: number;
  readonly redisBusy: number;
}

/** One simulated fleet. */
export interface Cell {
  readonly mix: string;
  readonly machines: number;
  readonly shards: number;
  /** Null where there is no bound: each tick goes out at once. */
  readonly gatesAtOnce: number | null;
  /** The most that it does: callers who always have more. */
  readonly most: Outcome;
  /** On paper, with what went together in the simulation. */
  readonly bounds: Bounds;
  /** At 70 % of that, from callers who do not wait for one another. */
  readonly calm: Outcome;
}

export interface Explored {
  readonly paper: readonly Paper[];
  readonly idle: readonly Idle[];
  readonly cells: readonly Cell[];
}

export interface ExploreOptions {
  readonly costs: Costs;
  readonly workers: readonly number[];
  readonly shards: readonly number[];
  readonly seed: number;
  readonly progress: (text: string) => void;
}

const BATCHES = [1, 8, 64];
const CALM = 0.7;
/** Calls under way, in multiples of what keeps the slowest stage busy. */
const PLENTY = 2;
/** What a call takes besides its service: hops, turns, and waiting for Redis. */
const OVERHEAD_MS = 5;
const JOBS = 2_000;
const CALLS_LEAST = 10_000;
const WARM_UP_MS = 200;
/** Mean service times of the longest kind of calls after which all slots have what they will have. */
const SEVERAL = 2;
const MS_PER_SECOND = 1e3;
const BYTES_PER_MB = 1e6;

export function explore({ costs, workers, shards, seed, progress }: ExploreOptions): Explored {
  const cells: Cell[] = [];
  const look = (mix: Mix, fleet: Fleet): Cell => {
    progress(`simulating ${mix.name}: ${fleet.machines} machines, ${fleet.shards} Redis`);
    const cell = simulateCell(costs, mix, fleet, seed);
    cells.push(cell);
    return cell;
  };
  for (const mix of MIXES) {
    for (const machines of workers) {
      for (const each of shards) {
        const cell = look(mix, fleetOf(machines, each));
        // More of what is not the limit changes nothing.
        if (cell.bounds.limit !== "redis") break;
      }
      if (mix.burst === 1 && mix.kinds[0]?.isShort === true) look(mix, { ...fleetOf(machines), gatesAtOnce: 1 });
    }
  }
  return { paper: onPaper(costs), idle: workers.map((machines) => idleOf(costs, machines)), cells };
}

function onPaper(costs: Costs): readonly Paper[] {
  return MIXES.flatMap((mix) => {
    const hasShort = mix.kinds.some(({ isShort }) => isShort);
    // The mixes of short calls differ in how many come at once, which on paper is a number of its own.
    if (hasShort && mix.kinds.length === 1 && mix.burst > 1) return [];
    const name = hasShort && mix.kinds.length === 1 ? "short" : mix.name;
    return (hasShort ? BATCHES : [1]).map((callsPerJob) => paperOf(costs, { ...mix, name }, callsPerJob));
  });
}

function paperOf(costs: Costs, mix: Mix, callsPerJob: number): Paper {
  const fleet = fleetOf(1);
  const sharing = nothingShared(callsPerJob);
  const cost = callCost(costs, mix, fleet, sharing);
  const callsPerSecond = 1e6 / cost.redisUs;
  const [first] = mix.kinds;
  return {
    mix: mix.name,
    callsPerJob,
    redisUsPerJob: redisUsByOperation(costs, first === undefined ? [] : demandOf(first, fleet, sharing)),
    redisUsPerCall: cost.redisUs,
    callsPerSecond,
    jobsPerSecond: callsPerSecond * cost.jobs,
    wireMbPerSecond: (callsPerSecond * cost.wireBytes) / BYTES_PER_MB,
    machines: machinesPerRedis(costs, mix, fleet, sharing),
  };
}

function idleOf(costs: Costs, machines: number): Idle {
  return { machines, redisBusy: idleShare(costs, fleetOf(machines)) };
}

function simulateCell(costs: Costs, mix: Mix, fleet: Fleet, seed: number): Cell {
  const { batchMax } = fleet;
  const callsPerJob = Number.isFinite(fleet.gatesAtOnce) ? batchMax : Math.min(mix.burst, batchMax);
  const sharing = nothingShared(callsPerJob);
  const { callsPerSecond } = boundsOf(costs, mix, fleet, sharing);
  const { slotMs, jobs } = callCost(costs, mix, fleet, sharing);
  const underWay = (PLENTY * callsPerSecond * (slotMs / jobs + OVERHEAD_MS)) / MS_PER_SECOND;
  const longestMs = Math.max(...mix.kinds.map(({ serviceMs }) => serviceMs));
  const calls = Math.max(CALLS_LEAST, JOBS / jobs, underWay);
  const settings: Settings = {
    fleet,
    mix,
    costs,
    load: { kind: "closed", callers: Math.ceil(underWay / mix.burst) },
    warmUpMs: Math.max(WARM_UP_MS, SEVERAL * longestMs),
    windowMs: Math.max((calls * MS_PER_SECOND) / callsPerSecond, SEVERAL * longestMs),
    seed,
  };
  const most = simulate(settings);
  const calm = simulate({ ...settings, load: { kind: "open", callsPerSecond: CALM * most.callsPerSecond } });
  const gatesAtOnce = Number.isFinite(fleet.gatesAtOnce) ? fleet.gatesAtOnce : null;
  const bounds = boundsOf(costs, mix, fleet, most.sharing);
  return { mix: mix.name, machines: fleet.machines, shards: fleet.shards, gatesAtOnce, most, bounds, calm };
}
