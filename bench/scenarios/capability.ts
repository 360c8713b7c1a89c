import { defineCapability } from "../../src/kernel/broker/capabilities/custom.ts";
import { call, EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;

const ASKING_FUNCTION = "async (input, { host }) => ({ sum: await host.adder.add(input) })";

const adder = defineCapability({
  name: "adder",
  methods: { add: { handler: ({ a, b }: { readonly a: number; readonly b: number }) => a + b } },
});

/** Cost of a capability call: the same sum, computed by the tool and by a capability of the host. */
export const capability: Scenario = {
  name: "capability",
  description: "one call of a custom capability, against the same tool without it",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 5, sampleMs: 300 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const subjects: Subject[] = [];
    for (const kind of EXECUTORS) {
      const policy = { rules: [{ allow: { adder: true } }] };
      const engine = opened.use(await openEngine(kind, { capabilities: [adder], policy }));
      await engine.register(addTool("without"));
      await engine.register({ ...addTool("with", ASKING_FUNCTION), capabilities: { adder: true } });
      const subject = (tool: string, against: readonly string[]): Subject => ({
        name: `glovebox ${kind}, ${tool}`,
        against,
        run: async (index) => sumOf(await call(engine, tool, addArguments(index))),
      });
      subjects.push(subject("with", [`glovebox ${kind}, without`]), subject("without", []));
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
