import { call, openEngine } from "../engines.ts";
import { measure } from "../sampling.ts";
import type { Effort, Scenario } from "../scenario.ts";
import { addArguments, addTool } from "../tools.ts";

interface MetricsEffort extends Effort {
  readonly tools: number;
}

/** Cost of a scrape on the host's thread. */
export const metrics: Scenario<MetricsEffort> = {
  name: "metrics",
  description: "one scrape of an engine whose tools were all called",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20, tools: 5 },
  full: { states: ["quiet"], rounds: 5, sampleMs: 500, tools: 200 },
  async run(context) {
    const { tools } = context.size;
    await using engine = await openEngine("process");
    for (let index = 0; index < tools; index++) {
      await engine.register(addTool(nameOf(index)));
      await call(engine, nameOf(index), addArguments(index));
    }
    const last = `glovebox_calls_total{tool="${nameOf(tools - 1)}",code="ok"} 1`;
    return await measure(context, {
      subjects: [
        {
          name: `glovebox, ${tools} tools`,
          against: [],
          run: async () => ((await engine.metrics()).includes(last) ? tools : Number.NaN),
        },
      ],
      expected: () => tools,
      latency: { name: "scrape_ms", unit: "ms" },
    });
  },
};

function nameOf(index: number): string {
  return `tool-${index}`;
}
