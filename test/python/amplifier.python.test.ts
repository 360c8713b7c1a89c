import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { documentFile, documentText, PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open();
  await bench.engine.register(documentFile("amplifier/python/read_file.py"));
  await bench.engine.register(documentFile("amplifier/python/bash.py"));
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

const indent = (text: string) => text.replaceAll(/^(?=.)/gm, "    ");

/** A class of a tool with this name and these methods. */
const tool = (name: string, execute: string, more = "") => `
from amplifier_core.models import ToolResult

class MyTool:
    name = "${name}"
    description = "Does something."
    def __init__(self, config): self.config = config
${more}
${indent(execute)}
`;
const execute = (body: string) => `async def execute(self, input):\n    ${body}\n`;

describe("the guide's classes, unchanged and without a mount", () => {
  test("are tools with their names, their descriptions and their schemas [B01 B02 B20 B30]", () => {
    const read = bench.engine.get("read_file");
    expect([read?.contract, read?.runtime, read?.description]).toEqual([
      "amplifier",
      "python",
      "Read the contents of a file",
    ]);
    expect(read?.inputSchema).toMatchObject({ required: ["path"], properties: { encoding: { default: "utf-8" } } });
    expect(bench.engine.get("bash")?.inputSchema).toMatchObject({ properties: { timeout: { default: 30 } } });
  });

  test("tell that there is no such file, and that a command is blocked [B27 B32 B33]", async () => {
    const missing = await bench.run("read_file", { path: "/tmp/at-all" });
    expect(missing.error).toMatchObject({ message: "File not found: /tmp/at-all", type: "FileNotFoundError" });
    const blocked = await bench.run("bash", { command: "sudo rm -rf / --force" });
    expect(blocked.error).toMatchObject({ message: "Blocked command pattern: rm -rf /", type: "SecurityError" });
  });

  test("are given the config of their place [B23 B32]", async () => {
    await using own = await PythonBench.open();
    await own.engine.register({
      path: documentFile("amplifier/python/read_file.py"),
      config: { allowed_paths: ["/data"] },
    });
    await own.engine.register({
      path: documentFile("amplifier/python/bash.py"),
      config: { blocked_commands: ["curl"] },
    });
    expect((await own.run("read_file", { path: "/database/x" })).error).toMatchObject({
      message: "Path not allowed",
      type: "PermissionError",
    });
    expect((await own.run("bash", { command: "curl x" })).error?.type).toBe("SecurityError");
  });
});

describe("the guide's mount, unchanged", () => {
  test("mounts by the tool's name, is given an empty config, and has its cleanup run after the call [A16 B03 B04]", async () => {
    const cleanup = 'def cleanup_function(): print("cleaned")\n';
    const source = tool("mounted", execute('print("ran"); return ToolResult(output=self.config)')) + cleanup;
    expect(await bench.register(source + documentText("amplifier/python/mount.py"))).toEqual(["mounted"]);
    const { output, metadata } = await bench.run("mounted");
    expect([output, metadata.logs.map(({ message }) => message)]).toEqual([{}, ["ran", "cleaned"]]);
  });

  test.each([
    ["a tool", "async def mount(coordinator, config):\n    return MyTool(config)"],
    [
      "nothing, and mounts it",
      "async def mount(coordinator, config):\n    await coordinator.mount('tools', MyTool(config), name='my-tool')",
    ],
    [
      "a tool that it has mounted, under another name",
      "async def mount(coordinator, config):\n    tool = MyTool(config=config)\n    await coordinator.mount('tools', tool, name='my-tool')\n    return tool",
    ],
    [
      "nothing, and put it among the coordinator's tools",
      "async def mount(coordinator, config):\n    coordinator.get('tools')['my-tool'] = MyTool(config)",
    ],
    ["at once", "def mount(coordinator, config=None):\n    return MyTool(config or {})"],
  ])("may also return %s [A14 A15 A17 A18 A19]", async (what, mount) => {
    const name = `mounts_${what.replaceAll(/\W/g, "_")}`;
    await bench.register(`${tool(name, execute("return ToolResult(output=self.config)"))}\n${mount}`, {
      config: { size: 1 },
    });
    expect((await bench.run(name)).output).toEqual({ size: 1 });
  });

  test("is given the digits of a long integer in the config", async () => {
    const told =
      "return ToolResult(output=[type(self.config['id']).__name__, str(self.config['id']), self.config['id']])";
    const mount = "def mount(coordinator, config):\n    return MyTool(config)";
    await bench.register(`${tool("digits", execute(told))}\n${mount}`, { config: { id: 1_915_883_588_174_806_058n } });
    const id = "1915883588174806058";
    expect((await bench.run("digits")).output).toEqual(["int", id, id]);
  });

  test("that finds that it cannot work here mounts nothing, and is told so [A17]", async () => {
    const error = await bench
      .register("async def mount(coordinator, config):\n    return None")
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "load_error", message: "the location contains no tool" });
  });

  test("may wait for nothing, and says why it failed [A26]", async () => {
    const error = await bench
      .register("async def mount(coordinator, config):\n    raise RuntimeError('no key')")
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "load_error", message: expect.stringContaining("no key") });
  });

  test("may register contributors, of which one that raises is in nobody's way [A36 A38]", async () => {
    const mount = `async def mount(coordinator, config):
    coordinator.register_contributor("observability.events", "my-tool", lambda: ["my-tool:started"])
    coordinator.register_contributor("observability.events", "bad", lambda: 1 / 0)
    return MyTool(config)`;
    await bench.register(`${tool("contributes", execute("return ToolResult()"))}\n${mount}`);
    expect((await bench.run("contributes")).success).toBe(true);
  });
});

describe("a tool's results", () => {
  const fetches = "    async def _fetch_content(self, input):\n        return input['text']\n";
  const works = `    async def _do_work(self, input):
        if input["how"] == "denied": raise PermissionError("keep out")
        if input["how"] == "broken": raise ZeroDivisionError("by zero")
        return {"how": input["how"]}
`;

  test("degrade gracefully, as the guide's do, unchanged [B39 B40 A25]", async () => {
    await bench.register(tool("graceful", documentText("amplifier/python/graceful.py"), works));
    const run = async (how: string) => bench.run("graceful", { how });
    expect((await run("well")).output).toEqual({ how: "well" });
    expect((await run("denied")).error).toMatchObject({ message: "keep out", type: "PermissionError" });
    expect((await run("broken")).error).toMatchObject({
      message: "Unexpected error: by zero",
      type: "ZeroDivisionError",
    });
  });

  test("are cut where they are long, as the guide's are, unchanged [B41 B42]", async () => {
    await bench.register(tool("aware", documentText("amplifier/python/token_aware.py"), fetches));
    const run = async (length: number) => String((await bench.run("aware", { text: "x".repeat(length) })).output);
    expect(await run(50_000)).toBe("x".repeat(50_000));
    expect(await run(50_007)).toBe(`${"x".repeat(50_000)}\n\n[Truncated: 7 chars remaining]`);
  });

  test("have defaults, metadata of their own, and an output that is not only text [A11 A12 B05]", async () => {
    await bench.register(
      tool(
        "results",
        execute(
          "first = ToolResult(); first.metadata['left'] = 1\n    return ToolResult(output=[first.success, first.output, first.error, ToolResult().metadata], metadata={'note': 'n'})",
        ),
      ),
    );
    const { output, metadata } = await bench.run("results");
    expect([output, metadata["note"]]).toEqual([[true, null, null, {}], "n"]);
  });

  test("fail with the message and the type that they say, and with those of what was raised [A13 A26]", async () => {
    await bench.register(
      tool("says", execute("return ToolResult(success=False, output='part', error={'message': 'm', 'type': 'T'})")),
    );
    await bench.register(tool("raises_it", execute("raise LookupError('gone')")));
    expect(await bench.run("says")).toMatchObject({
      success: false,
      output: "part",
      error: { message: "m", type: "T" },
    });
    expect((await bench.run("raises_it")).error).toMatchObject({ message: "gone", type: "LookupError" });
  });

  test("are those of the guide's own class as well, unchanged [B05 B06 B07 B08]", async () => {
    const body = `results = [ToolResult(True, "out"), ToolResult(True), ToolResult(False, error={"message": "m"}), ToolResult(False, error={"code": 1})]
    return ToolResult(True, "|".join(one.get_serialized_output() for one in results), metadata={"own": True})`;
    await bench.register(`${tool("own_result", execute(body))}\n${documentText("amplifier/python/tool_result.py")}`);
    expect((await bench.run("own_result")).output).toBe("out||Error: m|Error: Unknown error");
  });

  test("are told to a model as text, without control characters [B06 B08 B09]", async () => {
    const body = `results = [ToolResult(output={"a": "\\x00ü"}), ToolResult(output="a\\x07b\\n"), ToolResult(error={"message": "m"}), ToolResult()]
    return ToolResult(output=[one.get_serialized_output() for one in results])`;
    await bench.register(tool("serialized", execute(body)));
    expect((await bench.run("serialized")).output).toEqual(['{"a": "\\u0000ü"}', "ab\n", "Error: m", ""]);
  });
});

describe("a tool's schema", () => {
  const schema = documentText("amplifier/python/input_schema.py");

  test("is its input_schema, unchanged from the guide, or what get_schema answers [A27 A28 B10]", async () => {
    await bench.register(tool("with_schema", execute("return ToolResult(output=input)"), indent(schema)));
    await bench.register(
      tool(
        "gets_schema",
        execute("return ToolResult(output=input)"),
        `    def get_schema(self):\n${indent(indent(schema))}        return input_schema`,
      ),
    );
    await bench.register(
      tool(
        "as_property",
        execute("return ToolResult(output=input)"),
        `    @property\n    def input_schema(self):\n${indent(indent(schema))}        return input_schema`,
      ),
    );
    for (const name of ["with_schema", "gets_schema", "as_property"]) {
      expect((await bench.run(name, { path: "p" })).output).toEqual({ path: "p", encoding: "utf-8" });
      expect((await bench.run(name, {})).error?.code).toBe("invalid_arguments");
    }
  });

  test("is empty where it has none, and any object is its input [A04 A09]", async () => {
    await bench.register(tool("without_schema", execute("return ToolResult(output=input)")));
    expect((await bench.run("without_schema", { any: ["thing"] })).output).toEqual({ any: ["thing"] });
  });
});

test("the protocol is a check of structure, which needs no schema: the guide's, unchanged, and that of the package [A06 A07 B01]", async () => {
  const { output } = await bench.once(`${documentText("amplifier/python/tool_protocol.py")}
from amplifier_core import ModuleCoordinator, ToolCall
from amplifier_core.interfaces import Tool as PackageTool
from amplifier_core.testing import MockTool

class Half:
    name = "half"

def execute(input):
    call = ToolCall(id="1", name="t", arguments={"a": 1})
    return [[isinstance(one, kind) for one in (MockTool(), Half())] for kind in (Tool, PackageTool)] + [call.arguments]
`);
  expect(output).toEqual([[true, false], [true, false], { a: 1 }]);
});

test("authors find the package's mocks: what was mounted, and how a tool was called [A46 A47 A48 A49 A50 A51]", async () => {
  const { output } = await bench.once(`
from amplifier_core.testing import TestCoordinator, MockTool

async def execute(input):
    coordinator = TestCoordinator()
    mock_tool = MockTool(name="test_tool", description="Test tool", return_value="mock result")
    await coordinator.mount("tools", mock_tool, name=mock_tool.name)
    result = await coordinator.get("tools", "test_tool").execute({"a": 1})
    await coordinator.unmount("tools", name="test_tool")
    history = [[one["mount_point"], one["name"]] for one in coordinator.mount_history + coordinator.unmount_history]
    return [history, mock_tool.call_count, mock_tool.last_input, result, coordinator.get("tools")]
`);
  const result = { success: true, output: "mock result", error: null, metadata: {} };
  expect(output).toEqual([
    [
      ["tools", "test_tool"],
      ["tools", "test_tool"],
    ],
    1,
    { a: 1 },
    result,
    {},
  ]);
});
