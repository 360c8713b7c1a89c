import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import type { Keep } from "../../src/kernel/store/calls/call-record.ts";
import { CALLS_LAYOUT } from "../../src/kernel/store/calls/call-tables.ts";
import { layOut } from "../../src/kernel/store/sqlite/layout.ts";
import { openEngine } from "../engines.ts";
import { inRounds, pick } from "../rounds.ts";
import { runInEngine } from "../runs.ts";
import { measure, sampleThroughput, type Subject, type Throughput } from "../sampling.ts";
import type { Context, Row, Scenario } from "../scenario.ts";
import { summarize } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 256;
const NANOSECONDS = 1e6;
const BASELINE = "nothing is kept";
const KEPT = {
  [BASELINE]: { keep: "nothing" },
  "failures are kept": { keep: "failures" },
  "everything is kept": { keep: "everything" },
  "the file is locked": { keep: "failures", harm: lock },
  "the file is of another program": { keep: "failures", harm: (path: string) => writeFileSync(path, "something") },
} as const satisfies Readonly<Record<string, Kept>>;

type Measured = Throughput & { readonly delayMs: number };

interface Kept {
  readonly keep: Keep;
  /** Makes a file unusable before its first use. */
  readonly harm?: (path: string) => Disposable | void;
}

/** What it costs to keep calls: the goals are 0.95 of the rate without, and a millisecond of the event loop. */
export const keeping: Scenario = {
  name: "keeping",
  description: "a small warm tool of one tenant, in engines that keep calls in a file, or do not",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 40, sampleMs: 250 },
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-bench-keeping-"));
    await using opened = new AsyncDisposableStack();
    opened.defer(() => rmSync(folder, { recursive: true }));
    const subjects: Subject[] = [];
    for (const [name, { keep, harm }] of Object.entries<Kept>(KEPT)) {
      const path = join(folder, `${subjects.length}.sqlite`);
      const harmed = harm?.(path);
      if (harmed !== undefined) opened.use(harmed);
      const engine = opened.use(await openEngine("process", { calls: { keep, path }, stateDir: folder }));
      await engine.register(addTool("add"));
      const against = name === BASELINE ? [] : [BASELINE];
      subjects.push({ name, against, run: runInEngine(engine, "add", addArguments) });
    }
    const { rows, checksum } = await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
    });
    return { rows: [...rows, ...(await measureTogether(context, subjects))], checksum };
  },
};

/** Holds the lock of a file, as another process that writes for ever. */
function lock(path: string): Disposable {
  const database = new DatabaseSync(path);
  layOut(database, 2 ** 30, CALLS_LAYOUT);
  database.exec("BEGIN IMMEDIATE");
  return { [Symbol.dispose]: () => database.close() };
}

/**
 * Rate, processor time, and the event loop's delay in the worst hundredth of the time. More calls are kept at once after a
 * quiet time: each sample begins after those.
 */
async function measureTogether(context: Context, subjects: readonly Subject[]): Promise<Row[]> {
  const tail = `c${CONCURRENCY}`;
  const samples = await inRounds(context, subjects, `rate and delay, ${tail}`, async (subject, ms) => {
    await sampleThroughput(subject, expectedSum, CONCURRENCY, ms / 2);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const rate = await sampleThroughput(subject, expectedSum, CONCURRENCY, ms);
    delay.disable();
    return { ...rate, delayMs: delay.percentile(99) / NANOSECONDS };
  });
  const rowsOf = (
    name: string,
    unit: string,
    better: Row["better"],
    figure: (one: Measured) => number | null,
  ): Row[] => {
    const picked = pick(samples, figure);
    // Where the system does not tell processor times, there is no row of them.
    return picked.size < subjects.length ? [] : summarize({ name: `${name}_${tail}`, unit, better }, subjects, picked);
  };
  return [
    ...rowsOf("calls_per_second", "/s", "higher", ({ value }) => value),
    ...rowsOf("cpu_us_per_call", "us", "lower", ({ cpuUsPerCall }) => cpuUsPerCall),
    ...rowsOf("loop_p99_ms", "ms", "lower", ({ delayMs }) => delayMs),
  ];
}
