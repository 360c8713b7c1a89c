/** What is called, and in what fleets. */

/** Calls of one kind. */
export interface CallKind {
  /** Of all calls of the mix. The shares of a mix add up to 1. */
  readonly share: number;
  /** The mean time that the tool takes. */
  readonly serviceMs: number;
  /** `exponential`: many short ones and few long ones; `fixed`: all the same. */
  readonly spread: "exponential" | "fixed";
  /** Whether calls of one tick go together as one job. */
  readonly isShort: boolean;
  /** How often a call asks its server for something. */
  readonly asks: number;
  readonly inKb: number;
  readonly outKb: number;
}

export interface Mix {
  readonly name: string;
  readonly kinds: readonly CallKind[];
  /** Calls that come to a server at once, as of one step of an agent or of several agents in one tick. */
  readonly burst: number;
  /** Jobs that a machine runs at once: its processors where the tools compute, more where they wait. */
  readonly slots: number;
}

export interface Fleet {
  readonly servers: number;
  readonly machines: number;
  /** Fleets by name, each with a Redis of its own. A tenant belongs to one of them, and so does a machine. */
  readonly shards: number;
  readonly tenants: number;
  /** Short calls that go together at most. */
  readonly batchMax: number;
  /** Ticks of a server that may be on their way to one Redis at once; what comes meanwhile waits, and goes together. */
  readonly gatesAtOnce: number;
  /** One way between any of them and Redis. */
  readonly networkMs: number;
  /** What a server does of each call by itself: validation, policy, events, the journal. */
  readonly serverCallUs: number;
  readonly beatMs: number;
  /** How long a blocking read waits before it is sent anew. */
  readonly blockMs: number;
  readonly renewMs: number;
}

const SHORT: CallKind = {
  share: 1,
  serviceMs: 0.1,
  spread: "exponential",
  isShort: true,
  asks: 0,
  inKb: 0.1,
  outKb: 0.1,
};
const MEDIUM: CallKind = { ...SHORT, serviceMs: 20, isShort: false, inKb: 1, outKb: 1 };
const LONG: CallKind = { ...SHORT, serviceMs: 1_000, isShort: false, asks: 2, inKb: 1, outKb: 10 };

export const MIXES: readonly Mix[] = [
  { name: "short, one by one", kinds: [SHORT], burst: 1, slots: 4 },
  { name: "short, 8 at once", kinds: [SHORT], burst: 8, slots: 4 },
  { name: "short, 64 at once", kinds: [SHORT], burst: 64, slots: 4 },
  { name: "medium", kinds: [MEDIUM], burst: 1, slots: 32 },
  { name: "long", kinds: [LONG], burst: 1, slots: 128 },
  {
    name: "agents",
    kinds: [
      { ...SHORT, share: 0.7 },
      { ...MEDIUM, share: 0.25, asks: 1 },
      { ...LONG, share: 0.05, asks: 4 },
    ],
    burst: 4,
    slots: 32,
  },
];

/** A fleet as it comes, so many machines large. A server has four machines. */
export function fleetOf(machines: number, shards = 1): Fleet {
  return {
    servers: Math.max(2, Math.ceil(machines / 4)),
    machines,
    shards,
    tenants: 2_000,
    batchMax: 64,
    gatesAtOnce: Infinity,
    networkMs: 0.15,
    serverCallUs: 10,
    beatMs: 1_000,
    blockMs: 5_000,
    renewMs: 15_000,
  };
}
