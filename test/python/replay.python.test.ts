import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineCapability, readRecording, replayCall, type ToolDefinition } from "../../src/glovebox/index.ts";
import { PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;
let asked = 0;

const world = defineCapability({
  name: "world",
  methods: {
    count: { handler: () => ++asked },
    after: { handler: ({ ms }: { ms: number }) => new Promise((resolve) => setTimeout(resolve, ms, ms)) },
    fail: {
      handler: () => {
        throw new Error("it rains");
      },
    },
  },
});

beforeAll(async () => {
  bench = await PythonBench.open({ capabilities: [world], policy: { rules: [{ allow: { world: true } }] } });
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

/** What is tested is that it goes the same way, however slow the machine is. */
const AMPLE = { cpuMs: 60_000, wallMs: 120_000 };

async function record(body: string, more: Partial<ToolDefinition> = {}) {
  const source = `import asyncio, os, random, time\nfrom glovebox import host, CapabilityError\n${body}`;
  const name = await bench.tool(source, { capabilities: { world: true }, limits: AMPLE, ...more });
  const result = await bench.engine.execute({ name, arguments: { n: 1 } }, { record: true, tenant: "acme" });
  // Through a file and back: only what is written down counts.
  const text = JSON.stringify(result.metadata["recording"]);
  return { result, text, recording: readRecording(text) };
}

describe("a recorded call of Python's that is run again", () => {
  test.each<[string, string, Partial<ToolDefinition>?]>([
    ["throws dice", "def execute(i): return [random.random(), random.randint(1, 6), random.sample(range(100), 3)]"],
    [
      "takes what is random elsewhere",
      "import secrets, uuid\ndef execute(i): return [os.urandom(4).hex(), str(uuid.uuid4()), secrets.token_hex(4), hash('text') == hash('text')]",
    ],
    [
      "reads the clock",
      "import datetime, uuid\ndef execute(i):\n    time.sleep(0.005)\n    return [time.time(), time.monotonic(), time.perf_counter_ns(), datetime.datetime.now().isoformat(), str(uuid.uuid1(node=1, clock_seq=1))[:8]]",
    ],
    ["prints", "def execute(i):\n    print('one', random.random())\n    print('no line end', end='')"],
    ["raises", "def execute(i): raise LookupError(f'at {time.time()}')"],
    ["asks the world", "def execute(i): return [host.world.count(), random.random(), host.world.count()]"],
    [
      "asks in coroutines",
      "async def execute(i):\n    async def one(s):\n        await asyncio.sleep(s)\n        return [s, host.world.count(), time.time()]\n    return await asyncio.gather(one(0.02), one(0.001), one(0.01))",
    ],
    [
      "catches what failed",
      "def execute(i):\n    try:\n        host.world.fail()\n    except CapabilityError as error:\n        return [error.code, str(error)]",
    ],
    ["ends with what failed", "def execute(i): return host.world.fail()"],
    ["is denied something", "def execute(i): return host.env.get(name='HOME')"],
    [
      "has an interpreter of its own",
      "def execute(i): return [random.random(), os.urandom(4).hex()]",
      { isolation: "isolate" },
    ],
  ])("has the same result, to the byte: it %s", async (_what, body, more) => {
    const { result, recording } = await record(body, more);
    const askedBefore = asked;
    const again = await replayCall(recording);
    const told = ({ success, output, error }: typeof result, logs: unknown) =>
      JSON.stringify([success, output, error, logs]);
    expect(told(again.result, again.result.metadata.logs)).toBe(told(result, result.metadata.logs));
    expect([again.isSame, asked]).toEqual([true, askedBefore]);
  });

  test("is not the same where what it was answered is another", async () => {
    const { recording } = await record("def execute(i): return host.world.count()");
    const answers = recording.answers.map((answer) => ({ ...answer, payload: "777" }));
    const again = await replayCall({ ...recording, answers });
    expect(again.isSame).toBe(false);
  });

  test("is a text that says in what the tool is written, and nothing of the machine", async () => {
    const { text } = await record("def execute(i): return __file__");
    expect(JSON.parse(text)).toMatchObject({ tool: { runtime: "python" } });
    for (const place of [process.cwd(), bench.folder, process.env["HOME"] ?? "/root", "/.cache/"])
      expect(text).not.toContain(place);
  });
});
