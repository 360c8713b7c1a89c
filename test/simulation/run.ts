import { type Simulated, simulate } from "./simulate.ts";
import { currentWorld, inhabit } from "./world.ts";

/** Seeds between two turns of the real event loop. */
const CHUNK = 100;
/** Last lines of a trace that a failure shows. */
const SHOWN_LINES = 80;
const SHOWN_LENGTH = 400;

const nextTurn = setImmediate;

/** What the simulations of some seeds did, all together. */
export interface Summary {
  seeds: number;
  calls: number;
  effects: number;
  restarts: number;
  /** Capability calls that were answered from a journal. */
  replayed: number;
  readonly ends: Map<string, number>;
  /** The first seed whose simulation violated something. */
  failed: Simulated | null;
}

/** Runs the simulation of a seed. */
export type Simulate = (seed: number, isTraced?: boolean) => Promise<Simulated>;

/** Runs the simulations of seeds, one after the other, up to the first that violates something. */
export async function simulateAll(from: number, count: number, run: Simulate = simulate): Promise<Summary> {
  const summary: Summary = { seeds: 0, calls: 0, effects: 0, restarts: 0, replayed: 0, ends: new Map(), failed: null };
  for (let first = from; first < from + count && summary.failed === null; first += CHUNK) {
    await simulateChunk(first, Math.min(first + CHUNK, from + count), summary, run);
    await new Promise((resolve) => nextTurn(resolve));
  }
  return summary;
}

async function simulateChunk(first: number, end: number, summary: Summary, run: Simulate): Promise<void> {
  using _clocks = inhabit(currentWorld);
  using _rejections = hearRejections();
  for (let seed = first; seed < end; seed++) {
    const done = await run(seed);
    summary.seeds++;
    summary.effects += done.effects;
    summary.restarts += done.restarts;
    summary.replayed += done.replayed;
    for (const [code, times] of done.ends) {
      summary.calls += times;
      summary.ends.set(code, (summary.ends.get(code) ?? 0) + times);
    }
    if (done.violations.length === 0) continue;
    summary.failed = done;
    return;
  }
}

/** Runs one seed with its trace. */
export async function trace(seed: number, run: Simulate = simulate): Promise<Simulated> {
  using _clocks = inhabit(currentWorld);
  using _rejections = hearRejections();
  return await run(seed, true);
}

/** Says what was violated, how it came to that, and how to run it again. */
export async function explain({ seed, violations }: Simulated, run: Simulate = simulate): Promise<string> {
  const { trace: lines } = await trace(seed, run);
  const last = lines.slice(-SHOWN_LINES).map((line) => line.slice(0, SHOWN_LENGTH));
  const variable = run === simulate ? "SIMULATION_SEED" : "SIMULATION_LEGS_SEED";
  const again = `${variable}=${seed} runs it again, with its whole trace`;
  return [`the simulation of seed ${seed} violated:`, ...violations, "", ...last, "", again].join("\n");
}

function hearRejections(): Disposable {
  const onRejection = (error: unknown): void => currentWorld().violate(`nobody handled the rejection ${String(error)}`);
  process.on("unhandledRejection", onRejection);
  return { [Symbol.dispose]: () => void process.off("unhandledRejection", onRejection) };
}
