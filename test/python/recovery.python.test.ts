import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { defineCapability, type ToolDefinition } from "../../src/glovebox/index.ts";
import { PYTHON_MS, PythonBench } from "./bench.ts";
import { ExecutorKiller } from "../kernel/engine/executor-killer.ts";

let bench: PythonBench;
/** What the counter was told, by whatever call. */
const counted: unknown[] = [];
const killer = new ExecutorKiller();

const counter = defineCapability({
  name: "counter",
  methods: { add: { handler: ({ value }: { value: unknown }) => counted.push(value) } },
});

beforeAll(async () => {
  bench = await PythonBench.open({
    executor: "process",
    capabilities: [counter, killer.capability],
    policy: { rules: [{ allow: { counter: true, kill: true } }] },
  });
  const { engine } = bench;
  killer.watch(engine);
  // The process that was at work before anybody listened is replaced by one that is known.
  const source = "export default () => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }";
  await engine.register({ name: "first", description: "Ends its process.", source, limits: { cpuMs: 20 } });
  await bench.run("first");
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

beforeEach(() => {
  counted.length = 0;
  killer.left = 1;
});

const call = (source: string, more: Partial<ToolDefinition> = {}) =>
  bench.once(
    `import asyncio, random, time, uuid\nfrom glovebox import host\n${source}`,
    {},
    { capabilities: { counter: true, kill: true }, ...more },
  );

test(
  "a call in Python whose executor is killed between two effects has each of them once",
  async () => {
    const result = await call(`def execute(input):
    first = host.counter.add(value="first")
    killed = host.kill.now()
    return [first, killed, host.counter.add(value="second")]`);
    expect(result).toMatchObject({ success: true, output: [1, true, 2], metadata: { attempts: 2 } });
    expect(counted).toEqual(["first", "second"]);
  },
  PYTHON_MS,
);

test(
  "one that is killed several times does so too, in coroutines and at timers",
  async () => {
    killer.left = 2;
    const result = await call(`async def execute(input):
    for n in range(3):
        await asyncio.sleep(0.001)
        host.counter.add(value=n)
        time.sleep(0.001)
        host.kill.now()
    return "done"`);
    expect(result).toMatchObject({ output: "done", metadata: { attempts: 3 } });
    expect(counted).toEqual([0, 1, 2]);
  },
  PYTHON_MS,
);

test(
  "it sees the same times and the same chances again",
  async () => {
    const result = await call(`def execute(input):
    time.sleep(0.007)
    host.counter.add(value=[time.time(), random.random(), str(uuid.uuid4())])
    host.kill.now()
    time.sleep(0.003)
    host.counter.add(value=random.random())
    return "done"`);
    expect(result).toMatchObject({ output: "done", metadata: { attempts: 2 } });
    expect(counted).toHaveLength(2);
  },
  PYTHON_MS,
);
