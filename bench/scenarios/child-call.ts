import { call, EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;

const PASSING_ON_FUNCTION = '(input, { host }) => host.tools.call("add", input)';

/** What it costs that a tool has another one do its work. */
export const childCall: Scenario = {
  name: "child-call",
  description: "a tool that calls another one, against a call of that one",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 5, sampleMs: 300 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const subjects: Subject[] = [];
    for (const kind of EXECUTORS) {
      const engine = opened.use(await openEngine(kind, { policy: { rules: [{ allow: { tools: ["add"] } }] } }));
      await engine.register(addTool("add"));
      await engine.register({ ...addTool("parent", PASSING_ON_FUNCTION), capabilities: { tools: ["add"] } });
      const subject = (name: string, tool: string, against: readonly string[]): Subject => ({
        name: `glovebox ${kind}, ${name}`,
        against,
        run: async (index) => sumOf(await call(engine, tool, addArguments(index))),
      });
      subjects.push(subject("by a tool", "parent", [`glovebox ${kind}, by the caller`]));
      subjects.push(subject("by the caller", "add", []));
    }
    return await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: [CONCURRENCY],
      cpuConcurrency: CONCURRENCY,
    });
  },
};
