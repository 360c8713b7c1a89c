import { setTimeout as delay } from "node:timers/promises";
import { BackgroundLoad } from "../background-load.ts";
import { closeHandMade, HAND_MADE_WARM, openHandMade } from "../baselines/pools.ts";
import { burnArguments, burnTool, expectedBurn, PATIENT } from "../burn.ts";
import { openEngineAsItComes } from "../engines.ts";
import { inRounds, pick, type Rounds } from "../rounds.ts";
import { runInEngine, runInHandMade } from "../runs.ts";
import { type Expected, probe, runChecked, sampleLatency, type Subject } from "../sampling.ts";
import type { Effort, Row, Scenario } from "../scenario.ts";
import { summarize } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

interface MixedEffort extends Effort {
  /** Approximate duration of a call of the slow tool: called at intervals, and called all the time. */
  readonly shortMs: number;
  readonly longMs: number;
}

/** What calls the slow tool meanwhile: nobody, one call in twice the time that it takes, or callers without a pause. */
type Beside = "nothing" | "short" | "long";

interface MixedSubject extends Subject {
  readonly beside: Beside;
  readonly runSlow: (index: number, ms: number) => Promise<number>;
}

interface Found {
  readonly p50Us: number;
  readonly p99Us: number;
  readonly slowPerSecond: number | null;
}

const GLOVEBOX = "glovebox process";
/** As many as an engine has by itself. */
const WORKERS = 2;
const LONG_CALLERS = 4;
/** Fast calls take as long as slow ones where they wait for them: only some of them fit even into a longer time. */
const LONG_WINDOWS = 3;
/** For the slow calls to arrive where they are done. */
const LEAD_MS = 10;
const BESIDE: readonly Beside[] = ["nothing", "short", "long"];

/** Latency of a fast tool beside a slow one. */
export const mixedLoad: Scenario<MixedEffort> = {
  name: "mixed-load",
  description: "a fast tool, called by one caller, beside a slow one; as many workers as an engine has by itself",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20, shortMs: 1, longMs: 10 },
  // Nothing is quiet beside a load.
  full: { states: ["quiet"], rounds: 3, sampleMs: 2_000, shortMs: 5, longMs: 1_000 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const { size } = context;
    const subjects = await openSubjects(opened, size);
    const checksum = await probe(subjects, expectedSum);
    const expectedSlow = {
      nothing: expectedBurn(0),
      short: expectedBurn(size.shortMs),
      long: expectedBurn(size.longMs),
    };
    const rounds = await inRounds(context, subjects, "a fast tool beside a slow one", (subject, ms) =>
      sampleBeside(subject, size, expectedSlow[subject.beside], ms),
    );
    return { rows: rowsOf(subjects, rounds), checksum };
  },
};

/** Everybody beside everything, compared with itself alone; the engine with the hand-made sandbox as well. */
async function openSubjects(opened: AsyncDisposableStack, size: MixedEffort): Promise<MixedSubject[]> {
  const engine = opened.use(await openEngineAsItComes("process"));
  await engine.register({ ...addTool("fast"), limits: PATIENT });
  await engine.register(burnTool("slow"));
  const handMade = opened.adopt(openHandMade("warm", WORKERS), closeHandMade);
  const nameOf = (who: string, beside: Beside) =>
    beside === "nothing" ? `${who}, alone` : `${who}, beside ${size[`${beside}Ms`]} ms calls`;
  return BESIDE.flatMap((beside) => {
    const alone = (who: string) => (beside === "nothing" ? [] : [nameOf(who, "nothing")]);
    return [
      {
        name: nameOf(GLOVEBOX, beside),
        against: [...alone(GLOVEBOX), nameOf(HAND_MADE_WARM, beside)],
        beside,
        run: runInEngine(engine, "fast", addArguments),
        runSlow: (index, ms) => runInEngine(engine, "slow", (nth) => burnArguments(nth, ms))(index),
      },
      {
        name: nameOf(HAND_MADE_WARM, beside),
        against: alone(HAND_MADE_WARM),
        beside,
        run: runInHandMade(handMade, addArguments),
        runSlow: (index, ms) => runInHandMade(handMade, (nth) => burnArguments(nth, ms), "burn")(index),
      },
    ];
  });
}

async function sampleBeside(
  subject: MixedSubject,
  size: MixedEffort,
  expectedSlow: Expected,
  sampleMs: number,
): Promise<Found> {
  const { name, beside, runSlow } = subject;
  if (beside === "nothing") return { ...(await sampleFast(subject, sampleMs)), slowPerSecond: null };
  const slowMs = size[`${beside}Ms`];
  const slow: Subject = { name, against: [], run: (index) => runSlow(index, slowMs) };
  const callSlow = (nth: number) => runChecked(slow, expectedSlow, nth);
  await using load =
    beside === "short" ? BackgroundLoad.every(slowMs * 2, callSlow) : BackgroundLoad.closed(LONG_CALLERS, callSlow);
  await delay(LEAD_MS);
  const found = await sampleFast(subject, beside === "long" ? sampleMs * LONG_WINDOWS : sampleMs);
  return { ...found, slowPerSecond: await load.stop() };
}

async function sampleFast(subject: Subject, sampleMs: number) {
  const { p50, p99 } = await sampleLatency(subject, expectedSum, sampleMs);
  return { p50Us: p50 * 1e3, p99Us: p99 * 1e3 };
}

function rowsOf(subjects: readonly MixedSubject[], rounds: Rounds<Found>): Row[] {
  const p50 = pick(rounds, ({ p50Us }) => p50Us);
  const p99 = pick(rounds, ({ p99Us }) => p99Us);
  const slow = pick(rounds, ({ slowPerSecond }) => slowPerSecond);
  // Who is alone has no slow calls, and nobody can be compared with it.
  const loaded = subjects
    .filter(({ name }) => slow.has(name))
    .map(({ name, against }) => ({ name, against: against.filter((baseline) => slow.has(baseline)) }));
  return [
    ...summarize({ name: "fast_p50_us", unit: "us", better: "lower" }, subjects, p50),
    ...summarize({ name: "fast_p99_us", unit: "us", better: "lower" }, subjects, p99),
    ...summarize({ name: "slow_calls_per_second", unit: "/s", better: "higher" }, loaded, slow),
  ];
}
