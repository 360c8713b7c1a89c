import {
  closeHandMade,
  HAND_MADE_FRESH,
  HAND_MADE_WARM,
  MESSAGES,
  MessageWorker,
  openHandMade,
  openPiscina,
  openPiscinaTuned,
  PISCINA,
  PISCINA_TUNED,
} from "../baselines/pools.ts";
import { RawAdd } from "../baselines/raw-isolates.ts";
import { EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { runInEngine, runInHandMade, runNoop } from "../runs.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Effort, Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

interface DispatchEffort extends Effort {
  readonly concurrencies: readonly number[];
}

/** A loop in this thread that enters an isolate: what is left when there is no way there and back. */
const IN_THREAD = "in-thread limit";
const BASELINES = [PISCINA, PISCINA_TUNED, MESSAGES, HAND_MADE_WARM, HAND_MADE_FRESH, IN_THREAD];
const CPU_CONCURRENCY = 64;

/** The way to a small tool and back: the engine with everything on, against pools that do nothing and isolate nothing. */
export const dispatch: Scenario<DispatchEffort> = {
  name: "dispatch",
  description: "a small warm tool, one worker thread, isolation `instance`",
  smoke: { states: ["quiet", "busy"], rounds: 1, sampleMs: 10, concurrencies: [8, 64] },
  full: { states: ["quiet", "busy"], rounds: 7, sampleMs: 300, concurrencies: [8, 64, 256, 1024] },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const subjects: Subject[] = [];
    for (const kind of EXECUTORS) {
      const engine = opened.use(await openEngine(kind));
      await engine.register({ ...addTool("add"), isolation: "instance" });
      subjects.push({ name: `glovebox ${kind}`, against: BASELINES, run: runInEngine(engine, "add", addArguments) });
    }
    subjects.push(...(await openBaselines(opened)));
    return await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: context.size.concurrencies,
      cpuConcurrency: CPU_CONCURRENCY,
    });
  },
};

async function openBaselines(opened: AsyncDisposableStack): Promise<Subject[]> {
  const plain = opened.adopt(openPiscina(), (pool) => pool.destroy());
  const tuned = opened.adopt(openPiscinaTuned(), (pool) => pool.destroy());
  const messages = opened.use(await MessageWorker.start());
  const warm = opened.adopt(openHandMade("warm"), closeHandMade);
  const fresh = opened.adopt(openHandMade("fresh"), closeHandMade);
  const raw = opened.use(new RawAdd());
  return [
    { name: PISCINA, against: [], run: runNoop(plain) },
    { name: PISCINA_TUNED, against: [], run: runNoop(tuned) },
    { name: MESSAGES, against: [], run: runNoop(messages) },
    { name: HAND_MADE_WARM, against: [], run: runInHandMade(warm, addArguments) },
    { name: HAND_MADE_FRESH, against: [], run: runInHandMade(fresh, addArguments) },
    {
      name: IN_THREAD,
      against: [],
      sync: true,
      run: (index) => sumOf(JSON.parse(raw.warm(JSON.stringify(addArguments(index))))),
    },
  ];
}
