import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineCapability, type Isolation } from "../../src/glovebox/index.ts";
import { PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;

/** What lets calls go on that wait for each other. */
const meeting: (() => void)[] = [];

const world = defineCapability({
  name: "world",
  methods: {
    after: { handler: ({ ms }: { ms: number }) => delay(ms, ms, { ref: false }) },
    /** Answers nobody before so many have asked. */
    meet: {
      handler: ({ count }: { count: number }) =>
        new Promise((resolve) => {
          meeting.push(() => resolve(null));
          if (meeting.length === count) for (const goOn of meeting.splice(0)) goOn();
        }),
    },
  },
});

beforeAll(async () => {
  bench = await PythonBench.open({ capabilities: [world], policy: { rules: [{ allow: { world: true } }] } });
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

/** Counts what is left from one call to the next: in the module, in one of the standard library, and in a file. */
const COUNTS = `
import os, string
seen = []

def execute(input):
    seen.append(1)
    string.left = getattr(string, "left", 0) + 1
    return [len(seen), string.left]
`;

async function counts(isolation: Isolation) {
  const name = await bench.tool(COUNTS, { isolation });
  const outputs = [];
  for (const tenant of ["a", "a", "b"]) {
    outputs.push((await bench.engine.execute({ name, arguments: {} }, { tenant })).output);
  }
  return { outputs, info: bench.engine.get(name) };
}

describe("a tool's level", () => {
  test("instance has a module of its own for each call, in an interpreter for each tenant", async () => {
    const { outputs, info } = await counts("instance");
    expect(outputs.map((output) => (output as number[])[0])).toEqual([1, 1, 1]);
    expect((outputs[2] as number[])[1]).toBe(1);
    expect(info?.isolation).toBe("instance");
  });

  test("shared keeps the module for the calls of a tenant, and for no other's", async () => {
    const { outputs } = await counts("shared");
    expect(outputs.map((output) => (output as number[])[0])).toEqual([1, 2, 1]);
  });

  test("isolate has an interpreter of its own for each call: nothing at all is left", async () => {
    const { outputs, info } = await counts("isolate");
    expect(outputs).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
    expect(info?.isolation).toBe("isolate");
  });

  test("context, which Python has none of, is an isolate, and says why", async () => {
    const { outputs, info } = await counts("context");
    expect(outputs).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
    expect([info?.isolation, info?.isolationReason]).toEqual(["isolate", expect.stringContaining("interpreter")]);
  });
});

describe("calls that wait side by side", () => {
  const WAITS = `
import random, time
from glovebox import host
mine = []

def execute(input, context):
    mine.append(input["n"])
    print("begins", input["n"])
    first = random.random()
    host.world.meet(count=4)
    host.world.after(ms=input["ms"])
    time.sleep(0.001)
    print("ends", input["n"])
    return {"mine": mine, "call": context.call_id, "dice": [first, random.random()]}
`;
  const inputs = [60, 40, 20, 0].map((ms, n) => ({ n, ms }));

  async function together(isolation: Isolation) {
    const name = await bench.tool(WAITS, { capabilities: { world: true }, isolation });
    return Promise.all(inputs.map((args) => bench.run(name, args)));
  }

  test("have modules, logs, ids and randomness of their own", async () => {
    const results = await together("instance");
    const outputs = results.map(({ output }) => output as { mine: number[]; call: string; dice: number[] });
    expect(outputs.map(({ mine }) => mine)).toEqual([[0], [1], [2], [3]]);
    expect(outputs.map(({ call }) => call)).toEqual(results.map(({ metadata }) => metadata.callId));
    expect(new Set(outputs.flatMap(({ dice }) => dice)).size).toBe(8);
    const logs = results.map(({ metadata }) => metadata.logs.map(({ message }) => message));
    expect(logs).toEqual(inputs.map(({ n }) => [`begins ${n}`, `ends ${n}`]));
  });

  test("have one module where it is shared, and still logs and ids of their own", async () => {
    const results = await together("shared");
    const outputs = results.map(({ output }) => output as { mine: number[]; call: string });
    expect(outputs.at(0)?.mine.toSorted()).toEqual([0, 1, 2, 3]);
    expect(outputs.map(({ call }) => call)).toEqual(results.map(({ metadata }) => metadata.callId));
    expect(results.map(({ metadata }) => metadata.logs.length)).toEqual([2, 2, 2, 2]);
  });

  test("keep what they redirect of their output to themselves", async () => {
    const name = await bench.tool(
      `import io\nfrom contextlib import redirect_stdout\nfrom glovebox import host\n
def execute(input):
    output = io.StringIO()
    with redirect_stdout(output):
        print("a", input["n"])
        host.world.after(ms=input["ms"])
        print("b", input["n"])
    return output.getvalue()
`,
      { capabilities: { world: true } },
    );
    const results = await Promise.all(inputs.map((args) => bench.run(name, args)));
    expect(results.map(({ output }) => output)).toEqual(inputs.map(({ n }) => `a ${n}\nb ${n}\n`));
  });

  test("keep what coroutines redirect, and the folder they work in, to themselves", async () => {
    const name = await bench.tool(
      `import asyncio, io, os\nfrom contextlib import redirect_stdout\n
async def execute(input):
    output = io.StringIO()
    os.makedirs(str(input["n"]))
    os.chdir(str(input["n"]))
    with redirect_stdout(output):
        print("a", input["n"])
        await asyncio.sleep(input["ms"] / 1000)
        print("b", input["n"])
    print("ends", input["n"])
    return [output.getvalue(), os.getcwd()]
`,
    );
    const results = await Promise.all(inputs.map((args) => bench.run(name, args)));
    expect(results.map(({ output }) => output)).toEqual(inputs.map(({ n }) => [`a ${n}\nb ${n}\n`, `/tmp/${n}`]));
    const logs = results.map(({ metadata }) => metadata.logs.map(({ message }) => message));
    expect(logs).toEqual(inputs.map(({ n }) => [`ends ${n}`]));
  });

  test("leave nothing of what they put in place of their output to those that follow", async () => {
    const name = await bench.tool(
      `import io, sys\n
def execute(input):
    print("call", input["n"])
    sys.stdout = io.StringIO()
    raise ValueError("no")
`,
    );
    for (const n of [1, 2]) {
      const { metadata } = await bench.run(name, { n });
      expect(metadata.logs.map(({ message }) => message)).toEqual([`call ${n}`]);
    }
  });

  test("end with the tasks that they left, whatever those wait for", async () => {
    const name = await bench.tool(
      `import asyncio, time
from glovebox import host
ended = []

async def left(name, wait):
    try:
        await wait()
        ended.append("waited " + name)
    except BaseException as error:
        ended.append(type(error).__name__ + " " + name)

async def asleep(): await asyncio.sleep(60)
async def asks(): host.world.after(ms=60_000)
async def holds(): time.sleep(60)

async def execute(input):
    before = sorted(ended)
    if not before:
        kept.extend(asyncio.create_task(left(one.__name__, one)) for one in [asleep, asks, holds])
        await asyncio.sleep(0.001)
    return before

kept = []
`,
      { capabilities: { world: true }, isolation: "shared" },
    );
    expect((await bench.run(name)).output).toEqual([]);
    expect((await bench.run(name)).output).toEqual([
      "CancelledError asks",
      "CancelledError asleep",
      "CancelledError holds",
    ]);
  });

  test("are not in the way of Python's collector, which walks what they are in the midst of", async () => {
    const name = await bench.tool(
      `import asyncio, gc
from glovebox import _host
gc.set_threshold(10, 2, 2)

async def execute(input):
    await _host.ask_async("world", "after", {"ms": 0})
    return [[] for _ in range(100)].append(gc.isenabled())
`,
      { capabilities: { world: true } },
    );
    for (let round = 0; round < 6; round++) {
      const results = await Promise.all(Array.from({ length: 64 }, () => bench.run(name)));
      expect(results.filter(({ success }) => !success)).toEqual([]);
    }
  });

  test("have their garbage collected all the same", async () => {
    const name = await bench.tool(
      `import asyncio

async def execute(input):
    for _ in range(80):
        for _ in range(20):
            one = [bytes(50_000)] + [[] for _ in range(100)]
            one.append(one)
        await asyncio.sleep(0)
    return "done"
`,
      { limits: { memoryMb: 64, cpuMs: 60_000 } },
    );
    expect((await bench.run(name)).output).toBe("done");
  });

  test("keep coroutines of one call to that call", async () => {
    const name = await bench.tool(
      `import asyncio\n
async def step(n, ms):
    await asyncio.sleep(ms / 1000)
    print(n)
    return n

async def execute(input):
    return await asyncio.gather(*(step(input["n"] * 10 + at, ms) for at, ms in enumerate([9, 1, 5])))
`,
    );
    const results = await Promise.all([1, 2, 3].map((n) => bench.run(name, { n })));
    expect(results.map(({ output }) => output)).toEqual([1, 2, 3].map((n) => [n * 10, n * 10 + 1, n * 10 + 2]));
    expect(results.map(({ metadata }) => metadata.logs.map(({ message }) => Number(message)))).toEqual(
      [1, 2, 3].map((n) => [n * 10 + 1, n * 10 + 2, n * 10]),
    );
  });
});

describe("a call that is ended from outside", () => {
  const until = async (name: string, ms: number) => {
    const signal = AbortSignal.timeout(ms);
    return bench.engine.execute({ name, arguments: {} }, { signal });
  };

  /** Ends the call in the moment in which its first line is heard: an interpreter may take long to start. */
  const untilHeard = async (name: string) => {
    const abort = new AbortController();
    const onLog = () => void setTimeout(() => abort.abort(), 50);
    return bench.engine.execute({ name, arguments: {} }, { signal: abort.signal, onLog });
  };

  test("while it waits has its finally blocks run, whether it is a function or a coroutine", async () => {
    const body = (wait: string, kind: string) => `import asyncio, time
from glovebox import host
ended = []

${kind} execute(input):
    before = list(ended)
    if before: return before
    print("waiting")
    try:
        ${wait}
    except BaseException as error:
        ended.append(type(error).__name__)
        raise
    finally:
        ended.append("finally")
`;
    for (const [wait, kind] of [
      ["time.sleep(60)", "def"],
      ["host.world.after(ms=60_000)", "def"],
      ["await asyncio.sleep(60)", "async def"],
      ["asyncio.run(asyncio.sleep(60))", "def"],
    ] as const) {
      const more = { capabilities: { world: true }, isolation: "shared" } as const;
      const name = await bench.tool(body(wait, kind), more);
      expect((await untilHeard(name)).error?.code).toBe("cancelled");
      expect((await bench.run(name)).output).toEqual(["CancelledError", "finally"]);
    }
  });

  test("and holds on to its life, is ended all the same, and the next one works", async () => {
    const name = await bench.tool(`import time
def execute(input):
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
`);
    expect((await until(name, 200)).error?.code).toBe("cancelled");
    expect((await bench.once("def execute(input): return 1")).output).toBe(1);
  });

  test("because it waits for longer than it may, has wall_limit", async () => {
    const name = await bench.tool("import time\ndef execute(input): time.sleep(60)", { limits: { wallMs: 300 } });
    expect((await bench.run(name)).error?.code).toBe("wall_limit");
  });

  test("because it works for longer than it may, has cpu_limit, and those beside it have their results", async () => {
    const busy = await bench.tool(
      "def execute(input):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
      { limits: { cpuMs: 200 } },
    );
    const fine = await bench.tool("def execute(input): return 'fine'");
    const [ended, other] = await Promise.all([bench.run(busy), bench.run(fine)]);
    expect([ended.error?.code, other.output]).toEqual(["cpu_limit", "fine"]);
  });
});

test("a tool says how far it has come", async () => {
  const name = await bench.tool(
    "def execute(input, context):\n    context.progress(1, 2, 'half')\n    context.progress(2, 2)\n    return 1",
  );
  const told: unknown[] = [];
  const onProgress = (progress: unknown) => told.push(progress);
  expect((await bench.engine.execute({ name, arguments: {} }, { onProgress })).output).toBe(1);
  expect(told.at(-1)).toMatchObject({ progress: 2, total: 2 });
});
