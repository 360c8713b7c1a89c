import { call, EXECUTORS, openEngine, sumOf } from "../engines.ts";
import type { Engine } from "../../src/kernel/engine/engine.ts";
import { combine, measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;

const CHILDREN = 50;
const ONE_BY_ONE = `async (input, { host }) => {
  let sum = 0;
  for (let nth = 0; nth < ${CHILDREN}; nth++) sum += (await host.tools.call("add", input)).sum;
  return { sum: sum / ${CHILDREN} };
}`;
const AT_ONCE = `async (input, { host }) => {
  const all = await Promise.all(Array.from({ length: ${CHILDREN} }, () => host.tools.call("add", input)));
  return { sum: all.reduce((sum, each) => sum + each.sum, 0) / ${CHILDREN} };
}`;

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
    const many: Subject[] = [];
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
      for (const [name, source] of [["one by one", ONE_BY_ONE] as const, ["at once", AT_ONCE] as const]) {
        const tool = name === "at once" ? "together" : "row";
        await engine.register({ ...addTool(tool, source), capabilities: { tools: ["add"] } });
        const byCaller = `${CHILDREN} by the caller, ${name}`;
        many.push(subject(`${CHILDREN} by a tool, ${name}`, tool, [`glovebox ${kind}, ${byCaller}`]));
        many.push({ ...subject(byCaller, "add", []), run: name === "at once" ? together(engine) : inARow(engine) });
      }
    }
    const alone = await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: [CONCURRENCY],
      cpuConcurrency: CONCURRENCY,
    });
    const fifty = await measure(context, {
      subjects: many,
      expected: expectedSum,
      latency: { name: "fifty_latency_us", unit: "us" },
    });
    return combine([alone, fifty]);
  },
};

const oneOf = async (engine: Engine, index: number): Promise<number> =>
  sumOf(await call(engine, "add", addArguments(index)));

function inARow(engine: Engine): Subject["run"] {
  return async (index) => {
    let sum = 0;
    for (let nth = 0; nth < CHILDREN; nth++) sum += await oneOf(engine, index);
    return sum / CHILDREN;
  };
}

function together(engine: Engine): Subject["run"] {
  return async (index) => {
    const all = await Promise.all(Array.from({ length: CHILDREN }, () => oneOf(engine, index)));
    return all.reduce((sum, each) => sum + each, 0) / CHILDREN;
  };
}
