import { setTimeout as delay } from "node:timers/promises";
import type ivm from "isolated-vm";
import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { ToolDefinition } from "../../src/kernel/tool/definition.ts";
import { openRawIsolate, openRawTool, wrap } from "../baselines/raw-isolates.ts";
import { call, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const RAW = "raw: new isolate, context, script";
/** Time for an idle worker to prepare isolates for tools that may come. */
const PAUSE_MS = 40;

/** From the text of a tool that nobody has seen before to its first answer, on an engine that runs already. */
export const coldStart: Scenario = {
  name: "cold-start",
  description: "register a new tool and call it once, against bare isolated-vm in this thread",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 5, sampleMs: 200 },
  async run(context) {
    await using engine = await openEngine("process");
    await engine.register(nextTool());
    return await measure(context, {
      subjects: [...engineSubjects(engine), rawSubject()],
      expected: expectedSum,
      latency: { name: "cold_start_us", unit: "us" },
    });
  },
};

let made = 0;

/** Text that was never compiled before, so that no cache knows it. */
function nextFunction(): string {
  return `({ a, b }) => ({ sum: a + b, made: ${++made} })`;
}

function nextTool(): ToolDefinition {
  const text = nextFunction();
  return addTool(`cold-${made}`, text);
}

/** The whole, the whole when the worker had time to prepare, and the two parts alone. */
function engineSubjects(engine: Engine): Subject[] {
  let current = "";
  const register = async () => {
    const { name } = await engine.register(nextTool());
    current = name;
  };
  const first = async (index: number) => sumOf(await call(engine, current, addArguments(index)));
  const whole = async (index: number) => {
    await register();
    return first(index);
  };
  const after = async () => {
    await engine.unregister(current);
  };
  return [
    { name: "glovebox: register and call", against: [RAW], after, run: whole },
    {
      name: "glovebox: register and call, after a pause",
      against: [RAW],
      before: () => delay(PAUSE_MS),
      after,
      run: whole,
    },
    {
      name: "glovebox: register",
      against: [RAW],
      after,
      run: async (index) => {
        await register();
        return engine.get(current) === undefined ? Number.NaN : expectedSum(index);
      },
    },
    { name: "glovebox: first call", against: [RAW], before: register, after, run: first },
  ];
}

function rawSubject(): Subject {
  let isolate: ivm.Isolate | undefined;
  return {
    name: RAW,
    against: [],
    sync: true,
    after: async () => isolate?.dispose(),
    run: (index) => {
      isolate = openRawIsolate();
      const tool = openRawTool(isolate, isolate.compileScriptSync(wrap(nextFunction())));
      return sumOf(JSON.parse(tool.call(JSON.stringify(addArguments(index)))));
    },
  };
}
