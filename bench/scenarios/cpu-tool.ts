import { closeHandMade, openHandMade, openPiscina } from "../baselines/pools.ts";
import { burnArguments, burnTool, expectedBurn } from "../burn.ts";
import { EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { runInEngine, runInHandMade } from "../runs.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Effort, Scenario } from "../scenario.ts";

interface CpuToolEffort extends Effort {
  /** Approximate duration of a call. */
  readonly burnMs: number;
}

const CONCURRENCY = 8;
const CREWS = [1, 2] as const;

/** Work of the tool's own: what an engine adds to it, and what a second worker gains. */
export const cpuTool: Scenario<CpuToolEffort> = {
  name: "cpu-tool",
  description: "a tool that computes for about 5 ms, with one worker and with two",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 5, burnMs: 0.1 },
  // A spinning thread would take one of two processors away, and with it what is to be seen here.
  full: { states: ["quiet"], rounds: 5, sampleMs: 400, burnMs: 5 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const { burnMs } = context.size;
    const subjects: Subject[] = [];
    for (const workers of CREWS) subjects.push(...(await openSubjects(opened, workers, burnMs)));
    return await measure(context, {
      subjects,
      expected: expectedBurn(burnMs),
      latency: { name: "latency_ms", unit: "ms" },
      concurrencies: [CONCURRENCY],
      cpuConcurrency: CONCURRENCY,
    });
  },
};

/** All that do the work with so many workers; each is compared with its own single worker, too. */
async function openSubjects(opened: AsyncDisposableStack, workers: number, burnMs: number): Promise<Subject[]> {
  const nameOf = (who: string, count = workers) => `${who}, ${count === 1 ? "1 worker" : `${count} workers`}`;
  const alone = (who: string) => (workers === 1 ? [] : [nameOf(who, 1)]);
  const argumentsOf = (index: number) => burnArguments(index, burnMs);
  const subjects: Subject[] = [];
  const peers = ["piscina", "hand-made, warm context"] as const;
  const against = peers.map((peer) => nameOf(peer));
  for (const kind of EXECUTORS) {
    const who = `glovebox ${kind}`;
    const engine = opened.use(await openEngine(kind, { workers }));
    await engine.register(burnTool("burn"));
    const run = runInEngine(engine, "burn", argumentsOf);
    subjects.push({ name: nameOf(who), against: [...alone(who), ...against], run });
  }
  const [bare, handMade] = peers;
  const pool = opened.adopt(openPiscina(workers), (piscina) => piscina.destroy());
  const sandbox = opened.adopt(openHandMade("warm", workers), closeHandMade);
  const runBare = async (index: number) => sumOf(await pool.run(argumentsOf(index), { name: "burn" }));
  subjects.push({ name: nameOf(bare), against: alone(bare), run: runBare });
  subjects.push({ name: nameOf(handMade), against: alone(handMade), run: runInHandMade(sandbox, argumentsOf, "burn") });
  return subjects;
}
