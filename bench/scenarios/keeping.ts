import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Keep } from "../../src/store/calls/call-record.ts";
import { openEngine } from "../engines.ts";
import { inRounds, pick } from "../rounds.ts";
import { runInEngine } from "../runs.ts";
import { measure, sampleThroughput, type Subject } from "../sampling.ts";
import type { Context, Row, Scenario } from "../scenario.ts";
import { summarize } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 256;
const NANOSECONDS = 1e6;
const KEPT = {
  "nothing is kept": "nothing",
  "failures are kept": "failures",
  "everything is kept": "everything",
} as const satisfies Readonly<Record<string, Keep>>;
const BASELINE = "nothing is kept";

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
    for (const [name, keep] of Object.entries(KEPT)) {
      const calls = { keep, path: join(folder, `${keep}.sqlite`) };
      const engine = opened.use(await openEngine("process", { calls, stateDir: folder }));
      await engine.register(addTool("add"));
      const against = name === BASELINE ? [] : [BASELINE];
      subjects.push({ name, against, run: runInEngine(engine, "add", addArguments) });
    }
    const { rows, checksum } = await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: [CONCURRENCY],
      cpuConcurrency: CONCURRENCY,
    });
    return { rows: [...rows, ...(await delaysOf(context, subjects))], checksum };
  },
};

/** The event loop's delay in the worst hundredth of the time. */
async function delaysOf(context: Context, subjects: readonly Subject[]): Promise<Row[]> {
  const metric = { name: `loop_p99_ms_c${CONCURRENCY}`, unit: "ms", better: "lower" } as const;
  const delays = await inRounds(context, subjects, metric.name, async (subject, ms) => {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await sampleThroughput(subject, expectedSum, CONCURRENCY, ms);
    delay.disable();
    return delay.percentile(99) / NANOSECONDS;
  });
  return summarize(
    metric,
    subjects,
    pick(delays, (delay) => delay),
  );
}
