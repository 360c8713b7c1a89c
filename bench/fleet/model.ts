/** A fleet on paper: what each job asks of each stage, and how many calls a second each of them can bear. */
import { at, type Costs, type Line, type OperationName, OPERATIONS } from "./costs.ts";
import type { CallKind, Fleet, Mix } from "./mixes.ts";

/** What messages of a fixed form hold: that a job was taken, what is asked, what is answered. */
export const TAKEN_KB = 0.1;
export const ASK_KB = 0.5;

/** To Redis, to the server, and the same way back. */
const ASK_LEGS = 4;

const MS_PER_SECOND = 1e3;
const US_PER_SECOND = 1e6;

/** How much goes together: it depends on the load, and is what decides how far a Redis goes. */
export interface Sharing {
  /** Of jobs of short calls; all other jobs are one call. */
  readonly callsPerJob: number;
  /** Jobs whose places a server asks for at once. */
  readonly jobsPerGate: number;
  /** What one process has to say to another in one turn of its event loop. */
  readonly messagesPerEntry: number;
}

/** So many short calls in a job, and nothing else together: the most that such jobs can cost. */
export function nothingShared(callsPerJob: number): Sharing {
  return { callsPerJob, jobsPerGate: 1, messagesPerEntry: 1 };
}

/** How often each operation happens for one job, and how large it is. */
export type Demand = readonly { readonly operation: OperationName; readonly times: number; readonly size: number }[];

/**
 * What a job of one kind of calls asks of Redis where it and the machines are busy: nobody is woken, and nobody looks in
 * vain.
 */
export function demandOf(
  kind: CallKind,
  fleet: Fleet,
  { callsPerJob, jobsPerGate, messagesPerEntry }: Sharing,
): Demand {
  const calls = kind.isShort ? callsPerJob : 1;
  const serviceMs = kind.serviceMs * calls;
  const mail = (messages: number, kb: number) =>
    ({ operation: "mail", times: messages / messagesPerEntry, size: kb * messagesPerEntry }) as const;
  return [
    { operation: "gate", times: 1 / jobsPerGate, size: calls * jobsPerGate },
    { operation: "add", times: 1, size: calls * kind.inKb },
    { operation: "take", times: 1, size: calls * kind.inKb },
    { operation: "note", times: 1, size: 0 },
    mail(1, TAKEN_KB),
    mail(2 * kind.asks * calls, ASK_KB),
    mail(1, calls * kind.outKb),
    { operation: "renew", times: Math.floor(serviceMs / fleet.renewMs), size: 0 },
    { operation: "finish", times: 1, size: calls * kind.inKb },
  ];
}

/** What a job costs by one of the measures. */
function sum(demand: Demand, line: (operation: OperationName) => Line): number {
  return demand.reduce((total, { operation, times, size }) => total + times * at(line(operation), size), 0);
}

/** Microseconds of Redis's thread, for each operation of a job. */
export function redisUsByOperation(costs: Costs, demand: Demand): Readonly<Record<OperationName, number>> {
  const entries = OPERATIONS.map((operation): [OperationName, number] => {
    const own = demand.filter((each) => each.operation === operation);
    return [operation, sum(own, () => costs[operation].redisUs)];
  });
  return Object.fromEntries(entries) as Record<OperationName, number>;
}

/** What one call costs on the average. */
export interface CallCost {
  readonly redisUs: number;
  readonly wireBytes: number;
  /** Of the thread of its server. */
  readonly serverUs: number;
  /** Of the thread of its machine that speaks with Redis. */
  readonly machineUs: number;
  /** Of a slot. */
  readonly slotMs: number;
  readonly jobs: number;
}

const SERVER_SIDE: Readonly<Record<OperationName, number>> = {
  gate: 1,
  add: 1,
  mail: 0.5,
  wake: 0,
  take: 0,
  takeNothing: 0,
  note: 0,
  finish: 0,
  renew: 0,
  beat: 0,
};

/** The share of an operation's client time that is the server's; the rest is the machine's. Mail has two ends. */
export function serverShare(operation: OperationName): number {
  return SERVER_SIDE[operation];
}

export function callCost(costs: Costs, mix: Mix, fleet: Fleet, sharing: Sharing): CallCost {
  let total: CallCost = { redisUs: 0, wireBytes: 0, serverUs: 0, machineUs: 0, slotMs: 0, jobs: 0 };
  for (const kind of mix.kinds) {
    const calls = kind.isShort ? sharing.callsPerJob : 1;
    const demand = demandOf(kind, fleet, sharing);
    const share = kind.share / calls;
    const client = (serverSide: boolean) =>
      demand.reduce((us, { operation, times, size }) => {
        const part = serverSide ? serverShare(operation) : 1 - serverShare(operation);
        return us + part * times * at(costs[operation].clientUs, size);
      }, 0);
    total = {
      redisUs: total.redisUs + share * sum(demand, (operation) => costs[operation].redisUs),
      wireBytes: total.wireBytes + share * sum(demand, (operation) => costs[operation].wireBytes),
      serverUs: total.serverUs + share * (client(true) + calls * fleet.serverCallUs),
      machineUs: total.machineUs + share * client(false),
      slotMs: total.slotMs + kind.share * (kind.serviceMs + kind.asks * ASK_LEGS * fleet.networkMs),
      jobs: total.jobs + share,
    };
  }
  return total;
}

/** The share of one Redis's thread that goes into the fleet's being there: heartbeats, and reads that block in vain. */
export function idleShare(costs: Costs, fleet: Fleet): number {
  const machines = fleet.machines / fleet.shards;
  const beats = ((fleet.servers + machines) * at(costs.beat.redisUs, 0) * MS_PER_SECOND) / fleet.beatMs;
  const perBlock = at(costs.wake.redisUs, 0) + at(costs.takeNothing.redisUs, 0) + at(costs.mail.redisUs, 0);
  const blocks = ((machines * perBlock + fleet.servers * at(costs.mail.redisUs, 0)) * MS_PER_SECOND) / fleet.blockMs;
  return (beats + blocks) / US_PER_SECOND;
}

export type Stage = "redis" | "slots" | "servers" | "machines";

/** Calls a second that each stage can bear if nothing else is in the way; the shards' tenants are taken to be even. */
export interface Bounds extends Readonly<Record<Stage, number>> {
  readonly limit: Stage;
  readonly callsPerSecond: number;
}

export function boundsOf(costs: Costs, mix: Mix, fleet: Fleet, sharing: Sharing): Bounds {
  const cost = callCost(costs, mix, fleet, sharing);
  const stages: Readonly<Record<Stage, number>> = {
    redis: (fleet.shards * US_PER_SECOND * Math.max(0, 1 - idleShare(costs, fleet))) / cost.redisUs,
    slots: (fleet.machines * mix.slots * MS_PER_SECOND) / cost.slotMs,
    servers: (fleet.servers * US_PER_SECOND) / cost.serverUs,
    machines: (fleet.machines * US_PER_SECOND) / cost.machineUs,
  };
  const names: readonly Stage[] = ["redis", "slots", "servers", "machines"];
  const limit = names.reduce((least, name) => (stages[name] < stages[least] ? name : least));
  return { ...stages, limit, callsPerSecond: stages[limit] };
}

/** With how many machines one Redis is busy all the time; what the fleet's being there costs is left out. */
export function machinesPerRedis(costs: Costs, mix: Mix, fleet: Fleet, sharing: Sharing): number {
  const cost = callCost(costs, mix, fleet, sharing);
  const machine = Math.min((mix.slots * MS_PER_SECOND) / cost.slotMs, US_PER_SECOND / cost.machineUs);
  return US_PER_SECOND / cost.redisUs / machine;
}
