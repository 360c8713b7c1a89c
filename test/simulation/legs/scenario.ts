import type { ProgramArgs } from "../program.ts";
import { Random } from "../random.ts";
import type { ToolName } from "../scenario.ts";
import type { StoreFaults } from "./store.ts";

export interface StoredCallPlan {
  readonly args: ProgramArgs;
  readonly tenant: string;
  readonly atMs: number;
  /** Whether it is stored before it begins. */
  readonly isDurable: boolean;
}

export type LegFault =
  /** An engine ends with all of its processes. */
  | { readonly kind: "host"; readonly atMs: number }
  /** The executor processes of an engine end. */
  | { readonly kind: "executors"; readonly atMs: number }
  /** An engine closes, and gives its calls back. */
  | { readonly kind: "close"; readonly atMs: number }
  /** The clock of the machine is set. */
  | { readonly kind: "clock"; readonly atMs: number; readonly byMs: number };

/** All that happens to calls that wait, from outside. */
export interface LegScenario {
  readonly hosts: number;
  readonly calls: readonly StoredCallPlan[];
  readonly faults: readonly LegFault[];
  /** Share of effects behind which the executors end, and before or behind which the engine does. */
  readonly executorFalls: number;
  readonly hostFalls: number;
  /** Share of the store's steps behind which the engine ends. */
  readonly stepFalls: number;
  readonly store: StoreFaults;
  /** Longest pause between two looks of a person, and the share of them at which a call is cancelled. */
  readonly peopleMs: number;
  readonly cancels: number;
}

/** Virtual time in which faults happen. */
export const FAULTS_MS = 6_000;
const CLOCK_MS = 120_000;
/** Longer than a call is kept. */
const SUSPENDED_MS = 8 * 24 * 60 * 60 * 1_000;

export function legScenarioOf(seed: number): LegScenario {
  const random = new Random(seed ^ 0x2f6e2b1);
  const isQuiet = random.chance(0.15);
  const faults: LegFault[] = [];
  const add = (most: number, make: (atMs: number) => LegFault): void => {
    if (isQuiet) return;
    for (let more = random.below(most + 1); more > 0; more--)
      faults.push(make(random.chance(0.5) ? random.between(0, 200) : random.between(0, FAULTS_MS)));
  };
  add(3, (atMs) => ({ kind: "host", atMs }));
  add(2, (atMs) => ({ kind: "executors", atMs }));
  add(1, (atMs) => ({ kind: "close", atMs }));
  add(1, (atMs) => ({ kind: "clock", atMs, byMs: Math.round(random.between(-CLOCK_MS, CLOCK_MS)) }));
  if (random.chance(0.1)) add(1, (atMs) => ({ kind: "clock", atMs, byMs: SUSPENDED_MS }));
  return {
    hosts: random.pick([1, 1, 2]),
    calls: Array.from({ length: random.pick([1, 1, 2, 3]) }, () => callOf(random)),
    faults,
    executorFalls: isQuiet ? 0 : random.pick([0, 0.05, 0.2]),
    hostFalls: isQuiet ? 0 : random.pick([0, 0.1, 0.3]),
    stepFalls: isQuiet ? 0 : random.pick([0, 0, 0.01]),
    store: isQuiet
      ? NO_FAULTS
      : { refused: random.pick([0, 0.03]), lost: random.pick([0, 0, 0.03]), slow: random.pick([0, 0.1, 1]) },
    peopleMs: random.pick([100, 1_500]),
    cancels: isQuiet ? 0 : random.pick([0, 0, 0.02, 0.2]),
  };
}

export const NO_FAULTS: StoreFaults = { refused: 0, lost: 0, slow: 0 };

function callOf(random: Random): StoredCallPlan {
  const below = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, () => argsOf(random, []));
  const children = below.map((args) => ({ name: "below" satisfies ToolName, arguments: args }));
  return {
    args: argsOf(random, children),
    tenant: random.pick(["", "a"]),
    atMs: random.chance(0.5) ? 0 : random.between(0, 300),
    isDurable: random.chance(0.5),
  };
}

function argsOf(random: Random, children: ProgramArgs["children"]): ProgramArgs {
  return {
    seed: random.below(2 ** 31),
    asks: random.pick([0, 2, 5, 9]),
    methods: [
      ["disk", "write"],
      ["disk", "read"],
    ],
    timers: random.below(4),
    leaves: random.chance(0.2),
    isShort: false,
    children,
    harm: null,
    waits: random.pick([0, 1, 2, 4]),
    isStored: true,
  };
}
