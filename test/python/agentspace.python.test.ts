import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRegistry, type Fields, type Registry } from "../../src/contrib/agentspace/index.ts";
import { sample } from "../contrib/agentspace/bench.ts";
import { documentFile, PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;
let registry: Registry;

beforeAll(async () => {
  bench = await PythonBench.open();
  registry = await createRegistry(bench.engine, { path: ":memory:" });
}, PYTHON_MS);

afterAll(async () => {
  await registry.close();
  await bench[Symbol.asyncDispose]();
});

let last = 0;

/** Registers a record whose code is this text; answers what calls it. */
function tool(text: string, management: Fields = {}, tool_data: Record<string, string> = {}) {
  const toolId = `tool-${++last}`;
  const path = join(bench.folder, `${toolId}.py`);
  writeFileSync(path, text);
  const spec = { input: {}, output: {}, management };
  registry.register(
    sample("greeting-tool-v1", { tool_id: toolId, tool_data, tool_source_code_link: path, tools_api_spec: spec }),
  );
  return (args: Record<string, unknown> = {}, command?: string) =>
    registry.execute({ name: toolId, arguments: args, ...(command === undefined ? {} : { command }) });
}

const withMethods = (body: string) =>
  `class AgentSpaceV1Tool:\n    def __init__(self, tool_id, tool_data):\n        self.data = tool_data\n${body}`;

describe("the guide's greeting, unchanged, as a package", () => {
  const call = (args: Record<string, unknown>, command?: string) =>
    registry.execute({ name: "greeting-tool-v1", arguments: args, ...(command === undefined ? {} : { command }) });

  beforeAll(() => {
    const link = documentFile("agentspace/python/greeting-tool-v1");
    registry.register(sample("greeting-tool-v1", { tool_source_code_link: link }));
  });

  test("greets by name, and the world without one [C17 C27 F14]", async () => {
    expect((await call({ name: "Ann" })).output).toEqual({ message: "Hello, Ann from tool greeting-tool-v1" });
    expect((await call({})).output).toEqual({ message: "Hello, World from tool greeting-tool-v1" });
    expect(bench.engine.get("greeting-tool-v1")?.runtime).toBe("python");
  });

  test("has a command, whose answer is a text [C25 C28]", async () => {
    expect((await call({ text: "ab" }, "uppercase")).output).toBe("AB");
    expect((await call({}, "uppercase")).output).toBe("");
  });

  test("raises NotImplementedError for a command that it does not know [C26]", async () => {
    const { error } = await call({}, "nope");
    expect(error).toMatchObject({ type: "NotImplementedError", message: "Unknown command: nope" });
  });
});

describe("a class in Python", () => {
  test("may have execute as a coroutine, which may wait [C22]", async () => {
    const call = tool(
      `import asyncio\n${withMethods("    async def execute(self, input_data):\n        await asyncio.sleep(0.01)\n        return {'got': input_data}")}`,
    );
    expect((await call({ a: [1, "ü"] })).output).toEqual({ got: { a: [1, "ü"] } });
  });

  test("may do without commands, and then says so of every one [C24]", async () => {
    const call = tool(withMethods("    def execute(self, input_data):\n        return {}"));
    expect((await call({}, "any")).error?.type).toBe("NotImplementedError");
  });

  test("must be there, and must have execute [C16 C19]", async () => {
    const none = tool("class Other:\n    def execute(self, input_data):\n        return {}");
    const mute = tool(withMethods("    def run(self):\n        pass"));
    expect([(await none()).error?.code, (await mute()).error?.code]).toEqual(["load_error", "load_error"]);
  });

  test("that answers with no object has failed [C21]", async () => {
    const call = tool(withMethods("    def execute(self, input_data):\n        return 'text'"));
    expect((await call()).error?.message).toContain("must return an object");
  });

  test("that fails in its constructor says why [C18]", async () => {
    const call = tool(
      "class AgentSpaceV1Tool:\n    def __init__(self, tool_id, tool_data):\n        raise KeyError('model')\n    def execute(self, i):\n        return {}",
    );
    expect((await call()).error).toMatchObject({ type: "KeyError" });
  });

  test("is tried again as often as its record says, and no more often than that [C45]", async () => {
    const retries: Fields = { retries: { type: "number", default: 2 } };
    const failing = tool(withMethods("    def execute(self, input_data):\n        raise OSError('busy')"), retries);
    expect(await failing()).toMatchObject({ success: false, error: { type: "OSError" }, metadata: { attempts: 3 } });
  });

  test("has the time that its record gives it, while it works and while it waits [C43]", async () => {
    const timeout: Fields = { timeout: { type: "number", default: 1 } };
    const waits = tool(
      `import time\n${withMethods("    def execute(self, i):\n        time.sleep(60)\n        return {}")}`,
      timeout,
    );
    const works = tool(
      withMethods(
        "    def execute(self, i):\n        while True:\n            try:\n                while True: pass\n            except BaseException: pass",
      ),
      timeout,
    );
    expect((await waits()).error?.code).toBe("wall_limit");
    expect((await works()).error?.code).toMatch(/^(?:cpu|wall)_limit$/);
  });

  test("shows its data neither in its log nor in its error: not in the type, the message or the traceback [C51]", async () => {
    const secret = "k3y-that-nobody-may-see";
    const call = tool(
      withMethods(`    def execute(self, input_data):
        print("data:", self.data)
        if input_data.get("fail"):
            raise type("E" + self.data["api_key"], (Exception,), {})(f"refused for {self.data['api_key']}")
        return {}`),
      {},
      { api_key: secret },
    );
    const told = JSON.stringify([await call(), await call({ fail: true })]);
    expect(told).toContain("data:");
    expect(told).not.toContain(secret);
  });
});
