import { expect } from "vitest";
import { parse } from "smol-toml";
import { parseMountPlan } from "../../../src/contrib/amplifier/index.ts";
import { type Document, indent } from "./block.ts";

const TYPES =
  "from typing import Any, Callable, Protocol, runtime_checkable\nfrom amplifier_core import ModuleCoordinator, ToolResult\n";
/** Code around the pieces of the document. */
const classOf = (name: string, body: string, more = ""): string => `${TYPES}
class MyTool:
    name = "${name}"
    description = "Does something."
    def __init__(self, config): self.config = config
${more}
${indent(body)}
`;

export const AMPLIFIER_CONTRACT: Document = {
  file: "amplifier-tool-contract.md",
  isFenced: false,
  blocks: [
    {
      starts: "@runtime_checkable\nclass Tool(Protocol):",
      ends: 'Tool execution result\n"""\n...',
      depths: "00112211221122222122222222",
      is: "program",
      run: async (text, { bench }) => {
        const source = `${TYPES}${text}
class Old:
    name, description = "a", "b"
    async def execute(self, input): ...
def execute(input): return [isinstance(Old(), Tool), getattr(Old(), "input_schema", {})]`;
        const { output } = await bench.once(source);
        // Without the package's exclusion, Python's own check asks for the schema as well.
        expect(output).toEqual([false, {}]);
      },
    },
    {
      starts: "class ToolCall(BaseModel):",
      ends: "# Tool-specific parameters",
      depths: "0111",
      is: "program",
      within: 3,
    },
    {
      starts: "class ToolResult(BaseModel):",
      ends: "# Error details if failed",
      depths: "0111",
      is: "program",
      run: async (text, { bench, texts }) => {
        const model = "class BaseModel:\n    def __init__(self, **said): self.__dict__.update(said)\n";
        const source = `${TYPES}${model}${texts[1]}\n${text}
def execute(input): return [ToolResult().success, ToolResult(success=False).output, ToolCall(id="1", name="n", arguments={}).id]`;
        expect((await bench.once(source)).output).toEqual([true, null, "1"]);
      },
    },
    {
      starts: "async def mount(coordinator: ModuleCoordinator",
      ends: "return tool",
      depths: "01111111111",
      is: "program",
      run: async (text, { bench }) => {
        const source = classOf(
          "contract_mounted",
          "async def execute(self, input): return ToolResult(output=self.config)",
        );
        expect(await bench.register(source + text, { config: { size: 1 } })).toEqual(["contract_mounted"]);
        expect((await bench.run("contract_mounted")).output).toEqual({ size: 1 });
      },
    },
    {
      starts: '[project.entry-points."amplifier.modules"]',
      ends: '"my_tool:mount"',
      is: "input",
      run: async (text) => {
        const modules = { "my-tool": "my_tool:mount" };
        expect(parse(text)).toEqual({ project: { "entry-points": { "amplifier.modules": modules } } });
      },
    },
    {
      starts: "class MyTool:\n@property",
      ends: 'with given parameters."',
      depths: "0112112",
      is: "program",
      run: async (text, { bench }) => {
        const more =
          "\n    async def execute(self, input): return ToolResult(output=1)\n    def __init__(self, config): ...\n";
        expect(await bench.register(TYPES + text + more)).toEqual(["my_tool"]);
        expect(bench.engine.get("my_tool")?.description).toBe("Performs specific action with given parameters.");
      },
    },
    {
      starts: "async def execute(self, input: dict[str, Any]) -> ToolResult:\ntry:",
      ends: "type(e).__name__}\n)",
      depths: "01222344322233212332",
      is: "program",
      run: async (text, { bench }) => {
        const work = "    async def _do_work(self, given): return {'a': given}[given]";
        await bench.register(classOf("contract_executes", text, work));
        expect((await bench.run("contract_executes", { required_param: "a" })).output).toBe("a");
        expect((await bench.run("contract_executes", {})).error?.message).toBe("required_param is required");
        expect((await bench.run("contract_executes", { required_param: "b" })).error).toMatchObject({
          type: "KeyError",
        });
      },
    },
    {
      starts: "def get_schema(self) -> dict:",
      ends: '"required": ["required_param"]\n}',
      depths: "0112234433443221",
      is: "program",
      run: async (text, { bench }) => {
        const echo = "    async def execute(self, input): return ToolResult(output=input)";
        await bench.register(classOf("contract_schema", text, echo));
        expect((await bench.run("contract_schema", { required_param: "a" })).output).toEqual({
          required_param: "a",
          optional_param: 10,
        });
        expect((await bench.run("contract_schema", { required_param: 1 })).error?.code).toBe("invalid_arguments");
      },
    },
    {
      starts: "tools:\n- module: my-tool",
      ends: "/home/user/projects",
      is: "input",
      run: async (text) => {
        const shifts = ["", "", "  ", "  ", "    ", "    ", "    "];
        const plan = text.split("\n").map((line, at) => `${shifts[at]}${line}`);
        expect(parseMountPlan(plan.join("\n")).tools).toEqual([
          {
            module: "my-tool",
            source: "git+https://github.com/org/my-tool@main",
            config: { max_size: 1_048_576, allowed_paths: ["/home/user/projects"] },
          },
        ]);
      },
    },
    {
      starts: "coordinator.register_contributor(",
      ends: "]\n)",
      depths: "01110",
      is: "program",
      run: async (text, { bench }) => {
        const execute = "async def execute(self, input): return ToolResult(output=1)";
        const mount = `async def mount(coordinator, config):\n    await coordinator.mount("tools", MyTool(config))\n${indent(text)}`;
        await bench.register(classOf("contract_observed", execute) + mount);
        expect((await bench.run("contract_observed")).output).toBe(1);
      },
    },
    {
      starts: "from amplifier_core.testing import TestCoordinator, MockTool\n@pytest",
      ends: "assert result.error is None",
      depths: "000112111",
      is: "program",
      run: async (text, { bench, texts }) => {
        const pytest = "class pytest:\n    class mark:\n        asyncio = staticmethod(lambda test: test)\n";
        const work = "    async def _do_work(self, given): return given";
        const source = `${classOf("tested", texts[6] ?? "", work)}${pytest}${text}
async def execute(input):
    await test_tool_execution()
    return "passed"`;
        expect((await bench.once(source)).output).toBe("passed");
      },
    },
    {
      starts: "from amplifier_core.testing import MockTool\nmock_tool",
      ends: "mock_tool.last_input == {...}",
      depths: "001110000",
      is: "program",
      run: async (text, { bench }) => {
        const [made = "", after = ""] = text.split("# After use\n");
        // The document leaves out what the input was.
        const checks = after.replace("{...}", '{"a": 1}');
        const source = `${made}\nasync def execute(input):\n    result = await mock_tool.execute({"a": 1})\n${indent(checks)}\n    return result.output`;
        expect((await bench.once(source)).output).toBe("mock result");
      },
    },
    {
      starts: "# Structural validation\namplifier module validate",
      ends: "--type tool",
      is: "none",
      why: "A command of a shell; validate.system.test runs `module validate`.",
    },
  ],
};
