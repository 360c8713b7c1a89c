import { setTimeout as delay } from "node:timers/promises";
import { defineCapability } from "../../src/kernel/broker/capabilities/custom.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { call, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const UNDISTURBED = "nothing happens";
const ASKING_FUNCTION = "async (input, { host }) => ({ sum: input.a + input.b, point: await host.point.pass() })";
const WEDGE = "export default () => { Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }";
/** Between losses, so that none of them waits because there were too many. */
const PAUSE_MS = 600;

/** Duration of a call whose executor is lost half-way: from its start to its result, on the next executor. */
export const failover: Scenario = {
  name: "failover",
  description: "a call whose executor is killed in the middle of it, against the same call undisturbed",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 5, sampleMs: 300 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const subjects: Subject[] = [];
    for (const spare of [true, false]) {
      const setup = await open(spare);
      opened.use(setup.engine);
      if (spare) subjects.push({ name: UNDISTURBED, against: [], run: (index) => ask(setup.engine, index) });
      const name = `its executor is killed, ${spare ? "with" : "without"} a spare`;
      subjects.push({ name, against: [UNDISTURBED], before: setup.settle, run: setup.runKilled });
    }
    return await measure(context, { subjects, expected: expectedSum, latency: { name: "latency_ms", unit: "ms" } });
  },
};

async function ask(engine: Engine, index: number): Promise<number> {
  return sumOf(await call(engine, "asking", addArguments(index)));
}

/** An engine whose tool passes a point in the middle of its call, at which its executor may be killed. */
async function open(spare: boolean) {
  let kills = 0;
  let pid = 0;
  const point = defineCapability({
    name: "point",
    methods: { pass: { handler: () => (kills-- > 0 ? process.kill(pid, "SIGKILL") : true) } },
  });
  const engine = await createEngine({
    workers: 2,
    executor: { kind: "process", spare },
    capabilities: [point],
    policy: { rules: [{ allow: { point: true } }] },
  });
  engine.on("executor:start", (started) => ({ pid } = started.ward === "main" ? started : { pid }));
  await engine.register({ ...addTool("asking", ASKING_FUNCTION), capabilities: { point: true } });
  // The process that was at work before anybody listened is replaced by one whose number is known.
  await engine.register({ name: "first", description: "d", source: WEDGE, limits: { cpuMs: 20 } });
  await engine.execute({ name: "first", arguments: {} });
  const settle = async () => {
    await delay(PAUSE_MS);
    while (spare && !engine.stats().executor.spareReady) await delay(20);
    await ask(engine, 0);
  };
  const runKilled = (index: number) => {
    kills = 1;
    return ask(engine, index);
  };
  return { engine, settle, runKilled };
}
