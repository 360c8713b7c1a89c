import type { Isolation } from "../../src/kernel/base/protocol/script.ts";
import { RawAdd } from "../baselines/raw-isolates.ts";
import { call, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Effort, Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

interface IsolationEffort extends Effort {
  readonly concurrency: number;
}

const RAW_WARM = "raw: warm context";
const RAW_CONTEXT = "raw: fresh context";
const RAW_ISOLATE = "raw: fresh isolate";

/** Each level, and the operation of V8 that it cannot do without. */
const LEVELS: readonly (readonly [Isolation, string])[] = [
  ["shared", RAW_WARM],
  ["instance", RAW_WARM],
  ["context", RAW_CONTEXT],
  ["isolate", RAW_ISOLATE],
];

/** What each isolation level costs, against V8 doing the same in this thread with nothing around it. */
export const isolation: Scenario<IsolationEffort> = {
  name: "isolation",
  description: "the four isolation levels, against bare isolated-vm in this thread",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20, concurrency: 4 },
  full: { states: ["quiet", "busy"], rounds: 5, sampleMs: 300, concurrency: 64 },
  async run(context) {
    await using engine = await openEngine("process");
    using raw = new RawAdd();
    const subjects: Subject[] = [];
    for (const [level, baseline] of LEVELS) {
      await engine.register({ ...addTool(level), isolation: level });
      subjects.push({
        name: `glovebox ${level}`,
        against: [baseline],
        run: async (index) => sumOf(await call(engine, level, addArguments(index))),
      });
    }
    subjects.push(
      rawSubject(RAW_WARM, (json) => raw.warm(json)),
      rawSubject(RAW_CONTEXT, (json) => raw.inFreshContext(json)),
      rawSubject(RAW_ISOLATE, (json) => RawAdd.inFreshIsolate(json)),
    );
    return await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: [context.size.concurrency],
      cpuConcurrency: context.size.concurrency,
    });
  },
};

function rawSubject(name: string, run: (json: string) => string): Subject {
  return {
    name,
    against: [],
    sync: true,
    run: (index) => sumOf(JSON.parse(run(JSON.stringify(addArguments(index))))),
  };
}
