import { fileURLToPath } from "node:url";
import { call, EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;
const FOLDER = fileURLToPath(new URL("../modules", import.meta.url));

/**
 * Tools that add, by the contract in which each is written, and the one of ours that it is to be compared with. The last
 * two also sign their answer: one with Node's names, one without.
 */
const TOOLS = [
  ["add_function", null],
  ["add_strands", "add_function"],
  ["add_agentspace", "add_function"],
  ["add_async", null],
  ["add_amplifier", "add_async"],
  ["add_xaibo", "add_async"],
  ["sign_plain", null],
  ["sign_node", "sign_plain"],
] as const;

/**
 * What it costs that a tool is written in another contract, for its adapter in the isolate and what reads its result; and
 * what `Buffer` and `createHmac` cost.
 */
export const modules: Scenario = {
  name: "modules",
  description:
    "a tool that adds, written in each contract or with Node's names, against one of ours that is as asynchronous",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 5, sampleMs: 300 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const subjects: Subject[] = [];
    for (const kind of EXECUTORS) {
      const engine = opened.use(await openEngine(kind));
      await engine.register(FOLDER);
      for (const [tool, against] of TOOLS) {
        subjects.push({
          name: `glovebox ${kind}, ${tool}`,
          against: against === null ? [] : [`glovebox ${kind}, ${against}`],
          run: async (index) => sumOf(await call(engine, tool, addArguments(index))),
        });
      }
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
