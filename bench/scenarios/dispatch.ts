import type { Engine } from "../../src/engine.ts";
import {
  HAND_MADE,
  MESSAGES,
  MessageWorker,
  closeHandMade,
  openHandMade,
  openPiscina,
  openPiscinaTuned,
  PISCINA,
  PISCINA_TUNED,
} from "../baselines/pools.ts";
import { call, EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Effort, Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

interface DispatchEffort extends Effort {
  readonly concurrencies: readonly number[];
}

const BASELINES = [PISCINA, PISCINA_TUNED, MESSAGES, HAND_MADE];
const CPU_CONCURRENCY = 64;

/** The way to a small tool and back: the engine with everything on, against pools that do nothing and isolate nothing. */
export const dispatch: Scenario<DispatchEffort> = {
  name: "dispatch",
  description: "a small warm tool, one worker thread, isolation `instance`",
  smoke: { states: ["quiet", "busy"], rounds: 1, sampleMs: 20, concurrencies: [8, 64] },
  full: { states: ["quiet", "busy"], rounds: 7, sampleMs: 300, concurrencies: [8, 64, 256] },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const subjects: Subject[] = [];
    for (const kind of EXECUTORS) {
      const engine = opened.use(await openEngine(kind));
      await engine.register({ ...addTool("add"), isolation: "instance" });
      subjects.push(engineSubject(`glovebox ${kind}`, engine));
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

function engineSubject(name: string, engine: Engine): Subject {
  return { name, against: BASELINES, run: async (index) => sumOf(await call(engine, "add", addArguments(index))) };
}

/** The no-op ones answer the arguments themselves, so that what they were sent can be told from the answer. */
async function openBaselines(opened: AsyncDisposableStack): Promise<Subject[]> {
  const plain = opened.adopt(openPiscina(), (pool) => pool.destroy());
  const tuned = opened.adopt(openPiscinaTuned(), (pool) => pool.destroy());
  const messages = opened.use(await MessageWorker.start());
  const handMade = opened.adopt(openHandMade(), closeHandMade);
  const noop = (name: string, pool: { run(task: unknown): Promise<unknown> }): Subject => ({
    name,
    against: [],
    run: async (index) => {
      const { a, b } = (await pool.run(addArguments(index))) as ReturnType<typeof addArguments>;
      return a + b;
    },
  });
  return [
    noop(PISCINA, plain),
    noop(PISCINA_TUNED, tuned),
    noop(MESSAGES, messages),
    {
      name: HAND_MADE,
      against: [],
      run: async (index) => {
        const answer = (await handMade.run(JSON.stringify(addArguments(index)))) as string;
        return sumOf(JSON.parse(answer));
      },
    },
  ];
}
