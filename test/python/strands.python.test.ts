import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  check_capability,
  load_spec,
  run_chain,
  run_workflow,
  scriptedProvider,
  ToolRegistry,
} from "../../src/contrib/strands/index.ts";
import { documentFile, documentText, PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open();
  await bench.engine.register(documentFile("strands/python/echo.py"));
  await bench.engine.register(documentFile("strands/python/python_exec.py"));
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

const failure = async (name: string, args: Record<string, unknown>) => (await bench.run(name, args)).error?.message;
const SPEC = (name: string) =>
  `TOOL_SPEC = {"name": "${name}", "description": "A tool.", "inputSchema": {"json": {}}}\n`;

describe("the guide's echo, unchanged", () => {
  test("is found by its TOOL_SPEC, with its description and its schema [D02 D28 D32]", () => {
    const info = bench.engine.get("echo");
    expect([info?.contract, info?.description]).toEqual(["strands", "Returns the input message unchanged"]);
    expect(info?.inputSchema).toMatchObject({ type: "object", required: ["message"] });
  });

  test("gives back its message, and fails with its own words where that is empty [D29 D30]", async () => {
    expect((await bench.run("echo", { message: "Hello, World! 😀" })).output).toBe("Hello, World! 😀");
    expect(await failure("echo", { message: "" })).toBe("No message provided");
  });

  test("without a message is refused by its schema before it is called [D12 D31]", async () => {
    expect((await bench.run("echo", {})).error?.code).toBe("invalid_arguments");
  });
});

describe("the guide's python_exec, unchanged", () => {
  const exec = (code: string) => bench.run("python_exec", { code });

  test("has what the code printed as its result [D33 D37]", async () => {
    expect((await exec("f = 1\nfor n in range(1, 6): f *= n\nprint('5! =', f)")).output).toBe("5! = 120\n");
  });

  test("says so where there is no output, and where there is no code [D38 D39]", async () => {
    expect((await exec("x = 1")).output).toBe("Code executed successfully (no output)");
    expect(await failure("python_exec", { code: "" })).toBe("No code provided");
  });

  test.each([
    ["import os", "ImportError: __import__ not found"],
    ["1 / 0", "ZeroDivisionError: division by zero"],
    ["open('/etc/passwd')", "NameError: name 'open' is not defined"],
    ["let = ;", "SyntaxError: invalid syntax (<string>, line 1)"],
    ["{}['k']", "KeyError: 'k'"],
  ])("says how the code failed: %s [D36 D40]", async (code, words) => {
    expect(await failure("python_exec", { code })).toBe(`Execution failed: ${words}`);
  });
});

test("the guide's calculator, with a function that is written to its spec, validates and computes [D09 D11 D13]", async () => {
  const body = `
def calculator(tool, **kwargs):
    given = tool["input"]
    a, b = given["a"], given["b"]
    sums = {"add": lambda: a + b, "subtract": lambda: a - b, "multiply": lambda: a * b, "divide": lambda: a / b}
    value = round(sums[given["operation"]](), given["precision"])
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": [{"json": {"value": value}}]}
`;
  expect(await bench.register(documentText("strands/python/calculator_spec.py") + body)).toEqual(["calculator"]);
  const run = (more: object) => bench.run("calculator", { operation: "divide", a: 2, b: 3, ...more });
  expect([(await run({})).output, (await run({ precision: 4 })).output]).toEqual([{ value: 0.67 }, { value: 0.6667 }]);
  for (const more of [{ operation: "power" }, { precision: -1 }, { precision: 11 }, { a: "2" }]) {
    expect((await run(more)).error?.code).toBe("invalid_arguments");
  }
  expect((await run({ b: 0 })).error).toMatchObject({ type: "ZeroDivisionError", code: "tool_error" });
});

test("the guide's template fails in the words that it has for each kind of failure [D26 D27]", async () => {
  const work = `
def perform_operation(value):
    if value == "bad": raise ValueError("not that")
    if value == "worse": raise LookupError("nowhere")
    return value * 2
`;
  await bench.register(SPEC("my_tool") + documentText("strands/python/my_tool.py") + work);
  expect(await failure("my_tool", {})).toBe("Missing required parameter: required_param");
  expect(await failure("my_tool", { required_param: "bad" })).toBe("Invalid input: not that");
  expect(await failure("my_tool", { required_param: "worse" })).toBe("Execution failed: LookupError: nowhere");
  expect((await bench.run("my_tool", { required_param: "ab" })).output).toBe("abab");
});

describe("a Strands module in Python", () => {
  test("is given the id of its call and its input, and the context by name where it takes it [D14 D16]", async () => {
    await bench.register(`${SPEC("given")}
def given(tool, **kwargs):
    content = [{"json": {"tool": sorted(tool), "more": sorted(kwargs), "same": kwargs["context"].call_id == tool["toolUseId"]}}]
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": content}
`);
    expect((await bench.run("given", { a: 1 })).output).toEqual({
      tool: ["input", "toolUseId"],
      more: ["context"],
      same: true,
    });
  });

  test("may answer with an image's bytes, which leave as Base64 [D22]", async () => {
    await bench.register(`${SPEC("image")}
async def image(tool):
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": [{"image": bytes([0, 255, 16])}]}
`);
    expect(JSON.stringify((await bench.run("image")).output)).toContain("AP8Q");
  });

  test("that raises has failed, and so has one that answers with no result [D23 D27]", async () => {
    await bench.register(`${SPEC("raises")}def raises(tool): raise LookupError("lost")`);
    await bench.register(`${SPEC("mute")}def mute(tool): return {"content": 3}`);
    expect((await bench.run("raises")).error).toMatchObject({ type: "LookupError", message: "lost" });
    expect((await bench.run("mute")).success).toBe(false);
  });

  test("without a function of its spec's name is refused [D08]", async () => {
    await expect(bench.register(`${SPEC("one")}def other(tool): return {}`)).rejects.toMatchObject({
      code: "load_error",
    });
  });
});

test("a folder's tools in Python are found by themselves, and a workflow uses them [D01 D50 D68]", async () => {
  const tools = documentFile("strands/python");
  await using own = await PythonBench.open();
  const registry = await ToolRegistry.discover({ engine: own.engine, tools });
  expect(registry.list_all().map(({ id }) => id)).toEqual(expect.arrayContaining(["echo", "python_exec"]));
  const spec = await load_spec(join(documentFile("strands"), "echo-demo.yaml"));
  const provider = scriptedProvider([
    { calls: [{ name: "echo", arguments: { message: "Hello, World!" } }] },
    "Hello, World!",
  ]);
  const result = await run_chain(spec, {}, { registry, provider, folder: own.folder });
  expect(result.last_response).toBe("Hello, World!");
  expect(JSON.stringify(provider.requests.at(-1))).toContain("Hello, World!");
});

test("the guide's complete workflow runs as it is written, with the tools of a registry that names no folder", async () => {
  await using own = await PythonBench.open();
  const registry = await ToolRegistry.discover({ engine: own.engine });
  const spec = await load_spec(documentFile("strands/python/multi-tool-demo.yaml"));
  expect(spec.tools["python"]?.map(({ callable }) => callable)).toEqual(["echo", "python_exec"]);
  expect((await check_capability(spec, registry)).issues).toEqual([]);
  const code = "n = 1\nfor i in range(2, 6): n *= i\nprint(n)";
  const provider = scriptedProvider([
    { calls: [{ name: "echo", arguments: { message: "Starting workflow" } }] },
    { calls: [{ name: "python_exec", arguments: { code } }] },
    (messages) => messages.flatMap((one) => (one.role === "tool" ? [String(one.result.output).trim()] : [])).join(", "),
  ]);
  const { last_response, artifacts } = await run_workflow(spec, {}, { registry, provider, folder: own.folder });
  expect([last_response, artifacts]).toEqual(["Starting workflow, 120", ["./workflow-result.txt"]]);
});
