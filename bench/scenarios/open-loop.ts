import {
  closeHandMade,
  HAND_MADE_WARM,
  openHandMade,
  openPiscina,
  openPiscinaTuned,
  PISCINA,
  PISCINA_TUNED,
} from "../baselines/pools.ts";
import { EXECUTORS, openEngine } from "../engines.ts";
import { type Arrivals, offer, poissonArrivals } from "../open-loop.ts";
import { inRounds, pick, type Rounds } from "../rounds.ts";
import { runInEngine, runInHandMade, runNoop } from "../runs.ts";
import { probe, runChecked, type Subject } from "../sampling.ts";
import type { Effort, Row, Scenario } from "../scenario.ts";
import { percentile, summarize } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

interface OpenLoopEffort extends Effort {
  readonly ratesPerSecond: readonly number[];
}

interface Found {
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly achievedPerSecond: number;
}

const BASELINES = [PISCINA, PISCINA_TUNED, HAND_MADE_WARM];

/**
 * Calls come in at random times, at a fixed rate, whether or not the last ones were answered. Their time counts from
 * when they were due, so that whoever stalls pays for all who had to wait meanwhile. A subject that cannot keep up
 * shows in what it achieves: it has 4,096 calls open, and the time of those that it had no room for until the end
 * counts as what they had waited by then, which is the least that it could have been.
 */
export const openLoop: Scenario<OpenLoopEffort> = {
  name: "open-loop",
  description: "a small warm tool at fixed rates of arrival, one worker thread",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20, ratesPerSecond: [2_000] },
  // The thread that sends never sleeps, so there is no quiet state that a busy one could be compared with.
  full: { states: ["quiet"], rounds: 5, sampleMs: 1_000, ratesPerSecond: [1_000, 5_000, 20_000, 50_000] },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const subjects = await openSubjects(opened);
    const checksum = await probe(subjects, expectedSum);
    const rows: Row[] = [];
    for (const rate of context.size.ratesPerSecond) {
      const rounds = await inRounds(context, subjects, `${rate} calls per second`, (subject, ms) =>
        sampleOpenLoop(subject, poissonArrivals(rate, ms)),
      );
      rows.push(...rowsOf(rate, subjects, rounds));
    }
    return { rows, checksum };
  },
};

async function openSubjects(opened: AsyncDisposableStack): Promise<Subject[]> {
  const subjects: Subject[] = [];
  for (const kind of EXECUTORS) {
    const engine = opened.use(await openEngine(kind));
    await engine.register(addTool("add"));
    subjects.push({ name: `glovebox ${kind}`, against: BASELINES, run: runInEngine(engine, "add", addArguments) });
  }
  const plain = opened.adopt(openPiscina(), (pool) => pool.destroy());
  const tuned = opened.adopt(openPiscinaTuned(), (pool) => pool.destroy());
  const handMade = opened.adopt(openHandMade("warm"), closeHandMade);
  return [
    ...subjects,
    { name: PISCINA, against: [], run: runNoop(plain) },
    { name: PISCINA_TUNED, against: [], run: runNoop(tuned) },
    { name: HAND_MADE_WARM, against: [], run: runInHandMade(handMade, addArguments) },
  ];
}

async function sampleOpenLoop(subject: Subject, arrivals: Arrivals): Promise<Found> {
  const timesMs = new Float64Array(arrivals.atMs.length);
  const { sent, elapsedMs } = await offer(arrivals, "spin", async (nth, dueMs) => {
    await runChecked(subject, expectedSum, nth);
    timesMs[nth] = performance.now() - dueMs;
  });
  // Those that were not sent would have been answered after all others.
  for (const [nth, dueMs] of arrivals.atMs.entries()) if (nth >= sent) timesMs[nth] = elapsedMs - dueMs;
  timesMs.sort();
  const usOf = (share: number) => percentile(timesMs, share) * 1e3;
  const achievedPerSecond = (sent / elapsedMs) * 1e3;
  return { p50Us: usOf(0.5), p99Us: usOf(0.99), p999Us: usOf(0.999), achievedPerSecond };
}

function rowsOf(rate: number, subjects: readonly Subject[], rounds: Rounds<Found>): Row[] {
  const timeRows = (name: string, figure: (found: Found) => number) =>
    summarize({ name: `open_loop_${name}_us_${rate}`, unit: "us", better: "lower" }, subjects, pick(rounds, figure));
  const achieved = { name: `open_loop_achieved_per_second_${rate}`, unit: "/s", better: "higher" } as const;
  return [
    ...timeRows("p50", ({ p50Us }) => p50Us),
    ...timeRows("p99", ({ p99Us }) => p99Us),
    ...timeRows("p999", ({ p999Us }) => p999Us),
    ...summarize(
      achieved,
      subjects,
      pick(rounds, ({ achievedPerSecond }) => achievedPerSecond),
    ),
  ];
}
