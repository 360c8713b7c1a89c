/**
 * Calls innocent tools again and again and watches what the host and its executors hold: `program.ts [--calls N]
 * [--seed N] [--settle MS] [--leak BYTES]`, under `--expose-gc`. Tells of each sample, and at last what came of it, in lines of JSON.
 * With `--leak` each call leaves so many bytes behind in the host: a run that must be found to grow.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { Dice, seedOf } from "../load/dice.ts";
import { INNOCENTS } from "../load/innocents.ts";
import { Ledger } from "../load/ledger.ts";
import { Load } from "../load/load.ts";
import { childrenLeft, executors, filesOf, threadsOf } from "../processes.ts";
import { type Sample, SERIES, type SeriesName, type SoakReport } from "./report.ts";
import { fitTrend, type Point } from "./trend.ts";

const IN_FLIGHT = 64;
/** How long a call waits at most, where it waits. */
const SLOW_MS = 8;
/** Samples of a run, those of its warm-up included. */
const SAMPLES = 32;
const WARM_UP_SHARE = 0.25;
const MB = 1_024 * 1_024;

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "1000000" },
    seed: { type: "string" },
    // Executors tell what they hold four times a second.
    settle: { type: "string", default: "600" },
    leak: { type: "string", default: "0" },
  },
});
const calls = Number(values.calls);
const seed = seedOf(values.seed);
const leakBytes = Number(values.leak);
const settleMs = Number(values.settle);
const leaked: number[][] = [];

const ledger = new Ledger();
const dice = new Dice(seed);
let lastId = -1;
const engine = await createEngine({
  capabilities: [ledger.capability()],
  policy: { rules: [{ tools: ["*"], allow: { counter: true } }] },
  tools: INNOCENTS.map(({ tool }) => tool),
});
ledger.watch(engine);
if (leakBytes > 0) engine.on("tool:post", () => leaked.push(Array.from({ length: leakBytes / 8 }, Math.random)));
const load = new Load(engine, ledger, dice.fork(), SLOW_MS, () => ++lastId);
console.log(JSON.stringify(await soak(engine)));

async function soak(under: Engine): Promise<SoakReport> {
  const startMs = performance.now();
  const samples: { readonly calls: number; readonly sample: Sample }[] = [];
  for (let nth = 1; nth <= SAMPLES; nth++) {
    const until = Math.round((calls * nth) / SAMPLES);
    await Promise.all(Array.from({ length: IN_FLIGHT }, () => callUntil(until)));
    // A tool that is replaced now and then must not leave anything of its former versions.
    await under.register(dice.pick(INNOCENTS).tool);
    await delay(settleMs);
    samples.push({ calls: load.calls, sample: measure(under) });
    console.log(JSON.stringify(samples.at(-1)));
  }
  const seconds = (performance.now() - startMs) / 1e3;
  await under.close();
  for (let id = 0; id <= lastId; id++) {
    if (ledger.endsOf(id) !== 1) load.complain(`call ${id} was said to have ended ${ledger.endsOf(id)} times`);
  }
  const warmUpCalls = calls * WARM_UP_SHARE;
  const kept = samples.filter((each) => each.calls >= warmUpCalls);
  const points = bySeries((name): Point[] => kept.map(({ calls: at, sample }) => ({ calls: at, value: sample[name] })));
  const trends = bySeries((name) => fitTrend(points[name], SERIES[name]));
  const left = await childrenLeft();
  return { seed, calls: load.calls, warmUpCalls, seconds, load: load.report(), points, trends, childrenLeft: left };
}

async function callUntil(until: number): Promise<void> {
  while (load.calls < until) await load.once();
}

/** With no call in flight, and after the host's garbage has been collected; nobody can have an executor do that. */
function measure(under: Engine): Sample {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  const { executor, isolates } = under.stats();
  const pids = executors();
  const sum = (of: (pid: number) => number) => pids.reduce((total, pid) => total + of(pid), 0);
  return {
    "host heap, after a collection": heapUsed / MB,
    "host memory outside the heap": external / MB,
    "host RSS": rss / MB,
    "executors' RSS": executor.rssBytes / MB,
    "host handles": process.getActiveResourcesInfo().length,
    "host threads": threadsOf("self"),
    "host files": filesOf("self"),
    executors: pids.length,
    "executors' threads": sum(threadsOf),
    "executors' files": sum(filesOf),
    isolates: isolates.active + isolates.warm,
  };
}

function bySeries<T>(valueOf: (name: SeriesName) => T): Record<SeriesName, T> {
  const names = Object.keys(SERIES) as SeriesName[];
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<SeriesName, T>;
}
