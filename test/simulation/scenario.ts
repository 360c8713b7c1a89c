import type { Keep } from "../../src/kernel/store/calls/call-record.ts";
import type { Harm, ProgramArgs } from "./program.ts";
import { Random } from "./random.ts";

export type ToolName = "plain" | "asker" | "mixed" | "hosted" | "open" | "waiter" | "below";

/** Tools of a simulation, by what they may ask: of the broker alone, of the host alone, of both, in a realm of their own. */
export const TOOLS: Readonly<Record<ToolName, readonly string[]>> = {
  plain: [],
  asker: ["disk"],
  open: ["disk"],
  mixed: ["disk", "notes", "tools"],
  hosted: ["notes", "tools"],
  waiter: ["disk", "pause", "tools"],
  below: ["disk", "pause"],
};

export interface CallPlan {
  readonly tool: ToolName;
  readonly args: ProgramArgs;
  readonly tenant: string;
  readonly atMs: number;
  readonly cancelAfterMs: number | null;
  readonly wallMs: number | null;
  readonly capabilityCalls: number | null;
  readonly retries: number;
  readonly isHeard: boolean;
  readonly isRecorded: boolean;
}

export type Fault =
  | { readonly kind: "kill"; readonly atMs: number }
  | { readonly kind: "broker"; readonly atMs: number }
  /** Another policy is put in force, with the same rules. */
  | { readonly kind: "policy"; readonly atMs: number }
  | {
      readonly kind: "stall";
      readonly atMs: number;
      readonly who: "main" | "broker" | "worker";
      readonly forMs: number;
    };

/** All that happens from outside, and all that programs will do: both follow from the seed. */
export interface Scenario {
  readonly workers: number;
  readonly spare: boolean;
  readonly concurrency: number;
  /** Calls after which a process is replaced. */
  readonly recycleCalls: number;
  readonly calls: readonly CallPlan[];
  readonly faults: readonly Fault[];
  /** Share of handlers of the broker behind which it, or a process, ends. */
  readonly brokerFalls: number;
  readonly processFalls: number;
  readonly isTorn: boolean;
  readonly closesAtMs: number | null;
  /** Whether it is known which tools call others, so that workers run such calls themselves. */
  readonly hasCalled: boolean;
  /** Which ended calls are kept with their details. */
  readonly keep: Keep | null;
}

const HARMS: readonly [Harm, ...Harm[]] = ["crash", "hang", "spin", "memory", "throw"];

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed ^ 0x51ed270b);
  const isQuiet = random.chance(0.2);
  const hasKills = !isQuiet && random.chance(0.8);
  const hasBrokerFalls = !isQuiet && random.chance(0.25);
  const count = random.pick([1, 1, 1, 1, 1, 2, 2, 2, 3, 6]);
  const faults: Fault[] = [];
  const times = (most: number): number => 1 + random.below(most);
  if (hasKills) for (let more = times(3); more > 0; more--) faults.push({ kind: "kill", atMs: random.between(0, 80) });
  if (hasBrokerFalls && random.chance(0.7)) faults.push({ kind: "broker", atMs: random.between(0, 80) });
  if (random.chance(0.2)) faults.push({ kind: "policy", atMs: random.between(0, 60) });
  for (let more = random.below(3); more > 0; more--) {
    const who = random.pick(["main", "broker", "worker"] as const);
    faults.push({ kind: "stall", atMs: random.between(0, 60), who, forMs: random.between(1, 40) });
  }
  return {
    workers: random.pick([1, 1, 2]),
    spare: random.chance(0.5),
    concurrency: random.pick([2, 8]),
    recycleCalls: random.chance(0.15) ? 1 + random.below(3) : 1_000,
    calls: Array.from({ length: count }, () => callOf(random, isQuiet)),
    faults,
    brokerFalls: hasBrokerFalls ? random.pick([0, 0.05]) : 0,
    processFalls: hasKills ? random.pick([0, 0.05, 0.1]) : 0,
    isTorn: hasKills && random.chance(0.3),
    closesAtMs: !isQuiet && random.chance(0.05) ? random.between(10, 60) : null,
    hasCalled: random.chance(0.5),
    keep: random.pick([null, "failures", "everything"]),
  };
}

function callOf(random: Random, isQuiet: boolean): CallPlan {
  const tool = random.pick(["plain", "asker", "asker", "asker", "open", "mixed", "mixed", "hosted"] as const);
  const isTight = !isQuiet && random.chance(0.06);
  return {
    tool,
    args: argsOf(random, tool, isQuiet, 1),
    tenant: random.pick(["", "a", "a"]),
    atMs: random.chance(0.5) ? 0 : random.between(0, 30),
    cancelAfterMs: !isQuiet && random.chance(0.1) ? random.between(0, 60) : null,
    wallMs: isTight ? 10 + random.below(60) : null,
    capabilityCalls: random.chance(0.05) ? 1 + random.below(4) : null,
    retries: random.chance(0.1) ? 1 : 0,
    isHeard: random.chance(0.4),
    isRecorded: random.chance(0.15),
  };
}

function argsOf(random: Random, tool: ToolName, isQuiet: boolean, depth: number): ProgramArgs {
  const capabilities = TOOLS[tool].filter((name) => name !== "tools");
  const methods = capabilities.flatMap((name) => [[name, "write"] as const, [name, "read"] as const]);
  const isDenied = capabilities.length > 0 && random.chance(0.05);
  const harm = !isQuiet && random.chance(0.06) ? { turn: 1 + random.below(4), kind: random.pick(HARMS) } : null;
  const mayCall = TOOLS[tool].includes("tools") && depth < 2;
  const children = Array.from({ length: mayCall ? random.below(3) : 0 }, () => {
    const name = random.pick(["plain", "asker", "hosted"] as const);
    return { name, arguments: argsOf(random, name, isQuiet, depth + 1) };
  });
  return {
    seed: random.below(2 ** 31),
    asks: capabilities.length === 0 ? 0 : random.pick([1, 3, 6, 12]),
    methods: isDenied ? [...methods, ["vault", "open"]] : methods,
    timers: random.below(3),
    leaves: random.chance(0.3),
    isShort: random.chance(tool === "plain" ? 0.7 : 0.1),
    children,
    harm,
  };
}

/** A call and those that it makes. */
export function programsOf(args: ProgramArgs): readonly ProgramArgs[] {
  return [args, ...args.children.flatMap((child) => programsOf(child.arguments as ProgramArgs))];
}
