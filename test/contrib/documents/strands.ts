import { join } from "node:path";
import { expect } from "vitest";
import {
  check_capability,
  load_spec,
  run_chain,
  scriptedProvider,
  ToolRegistry,
} from "../../../src/contrib/strands/index.ts";
import { PythonBench } from "../../python/bench.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { type Document, indent, type World } from "./block.ts";

const SHELL = "A command of a shell.";

export const STRANDS: Document = {
  file: "strands-native-tools.md",
  isFenced: true,
  blocks: [
    { starts: "1. CLI starts", is: "none", why: "Steps in words." },
    { starts: "src/strands_cli/tools/", is: "none", why: "The layout of folders." },
    {
      starts: '"""Echo tool',
      is: "program",
      fixture: "strands/python/echo.py",
      run: async (text, { bench }) => {
        expect(await bench.register(text)).toEqual(["echo"]);
        expect((await bench.run("echo", { message: "Hello" })).output).toBe("Hello");
        expect((await bench.run("echo", { message: "" })).error?.message).toBe("No message provided");
      },
    },
    { starts: "uv run python -c", is: "none", why: `${SHELL} Its program runs within block 27.` },
    { starts: "version: 0\nname: echo-demo", is: "input", run: (text, world) => runs(text, world, "Hello, World!") },
    { starts: "uv run strands run examples/echo-demo.yaml", is: "none", why: SHELL },
    {
      starts: 'TOOL_SPEC = {\n    "name": str,',
      is: "program",
      run: async (text, { bench }) => {
        const names = "{name: kind.__name__ for name, kind in TOOL_SPEC.items()}";
        const source = `def execute(input):\n${indent(text)}\n    return ${names}`;
        expect((await bench.once(source)).output).toEqual({ name: "str", description: "str", inputSchema: "dict" });
      },
    },
    {
      starts: '"inputSchema": {\n    "json": {',
      is: "program",
      run: async (text, { bench }) => {
        // It has names where values belong, and dots for what is left out.
        const source = `value, allowed_values, number = 1, 1, 0\nspec = {${text.replace("{...}", "{}")}}\ndef execute(input): return spec`;
        expect((await bench.once(source)).output).toMatchObject({
          inputSchema: { json: { properties: { param_name: { minimum: 0 } }, required: ["param1", "param2"] } },
        });
      },
    },
    {
      starts: 'TOOL_SPEC = {\n    "name": "calculator",',
      is: "program",
      fixture: "strands/python/calculator_spec.py",
      run: async (text, { bench }) => {
        const result = '{"toolUseId": "", "status": "success", "content": [{"json": tool["input"]}]}';
        expect(await bench.register(`${text}\ndef calculator(tool, **kwargs): return ${result}`)).toEqual([
          "calculator",
        ]);
        const args = { operation: "add", a: 1, b: 2 };
        expect((await bench.run("calculator", args)).output).toEqual({ ...args, precision: 2 });
        expect((await bench.run("calculator", { ...args, precision: 11 })).error?.code).toBe("invalid_arguments");
      },
    },
    {
      starts: '{\n    "toolUseId": str,      # Echo back the invocation ID\n    "status": "success"',
      is: "program",
      run: (text, world) => shape(text, world, "success", [["text"], ["json"], ["image"]]),
    },
    {
      starts: '{\n    "toolUseId": str,      # Echo back the invocation ID\n    "status": "error"',
      is: "program",
      run: (text, world) => shape(text, world, "error", [["text"]]),
    },
    {
      starts: "def my_tool(tool: dict[str, Any]",
      is: "program",
      run: async (text, { bench }) => {
        const spec =
          'TOOL_SPEC = {"name": "my_tool", "description": "d", "inputSchema": {"json": {"type": "object"}}}\n';
        const work = "def perform_operation(value): return int(value) // len(value.strip('0'))\n";
        await bench.register(`from typing import Any\n${spec}${work}${text}`);
        expect((await bench.run("my_tool", { required_param: "12" })).output).toBe("6");
        const failures = await Promise.all(["", "x", "0"].map((one) => bench.run("my_tool", { required_param: one })));
        expect(failures.map(({ error }) => error?.message)).toEqual([
          "Missing required parameter: required_param",
          expect.stringContaining("Invalid input: invalid literal for int()"),
          expect.stringContaining("Execution failed: ZeroDivisionError: "),
        ]);
        await bench.engine.unregister("my_tool");
      },
    },
    {
      starts: '"""Python code execution tool',
      is: "program",
      fixture: "strands/python/python_exec.py",
      run: async (text, { bench }) => {
        expect(await bench.register(text)).toEqual(["python_exec"]);
        expect((await bench.run("python_exec", { code: "print(6 * 7)" })).output).toBe("42\n");
      },
    },
    {
      starts: '"""Unit tests for echo native tool."""',
      is: "program",
      run: async (text, world) => {
        const names = [...text.matchAll(/def (test_\w+)/g)].map(([, name]) => name);
        expect(names).toHaveLength(4);
        const run =
          "test = TestEchoTool()\n    for name in input['names']: getattr(test, name)()\n    return len(input['names'])";
        expect(await inPackage(world, text, run, { names })).toBe(4);
      },
    },
    {
      starts: '"""Integration tests for echo tool in workflows."""',
      is: "input",
      run: async (text, world) => {
        const specs = [...text.matchAll(/spec_content = """\n(.*?)"""/gs)].map(([, spec = ""]) => spec);
        expect(specs).toHaveLength(2);
        for (const spec of specs) await runs(spec, world, "Test");
      },
    },
    { starts: "# Run all tests for echo tool", is: "none", why: SHELL },
    { starts: "tools:\n  python:\n    - echo ", is: "input", run: (text, world) => withTools(text, world) },
    { starts: "tools:\n  python:\n    - strands_cli", is: "input", run: (text, world) => withTools(text, world) },
    {
      starts: "version: 0\nname: multi-tool-demo",
      is: "input",
      run: (text, world) => runs(text, world, "Starting workflow"),
    },
    { starts: "uv run strands run examples/multi-tool-demo.yaml", is: "none", why: SHELL },
    { starts: "# From src/strands_cli/tools/registry.py", is: "program", within: 27 },
    { starts: "def _discover_tools(self)", is: "program", within: 27 },
    { starts: "@dataclass\nclass ToolInfo:", is: "program", within: 27 },
    { starts: "def resolve(self", is: "program", within: 27 },
    { starts: "def get_allowlist(self)", is: "program", within: 27 },
    { starts: "# From src/strands_cli/capability/checker.py", is: "program", within: 27 },
    {
      starts: "from strands_cli.tools import get_registry\n\n# Get registry instance",
      is: "program",
      run: async (text, world) => {
        const check = indent(world.texts[25] ?? "");
        const run = `tool, i, issues = SimpleNamespace(callable="nobody"), 3, []
    CapabilityIssue = lambda **said: said
${check}
${indent(text)}
    return [sorted(one.id for one in all_tools), canonical_path, sorted(allowlist), issues]`;
        expect(await inPackage(world, "from types import SimpleNamespace\n", run)).toEqual([
          ["echo", "python_exec"],
          "strands_cli.tools.echo",
          ["echo", "python_exec", "strands_cli.tools.echo", "strands_cli.tools.python_exec"],
          [
            {
              pointer: "/tools/python/3/callable",
              reason: "Python callable 'nobody' not in allowlist",
              remediation: "Use an existing native tool or add one under strands_cli.tools",
            },
          ],
        ]);
      },
    },
  ],
};

/** What a result has to look like, as the document writes it. */
async function shape(text: string, { bench }: World, status: string, content: string[][]): Promise<void> {
  const source = `result = ${text}\ndef execute(input): return [result["status"], [list(one) for one in result["content"]]]`;
  expect((await bench.once(source)).output).toEqual([status, content]);
}

/** Runs a workflow with the document's own tools; the model calls `echo` with a text, and answers with its result. */
async function runs(text: string, { texts }: World, said: string): Promise<void> {
  const [echo = "", exec = ""] = [texts[2], texts[12]];
  const folder = await temporaryFolder({ "tools/echo.py": echo, "tools/python_exec.py": exec, "spec.yaml": text });
  await using own = await PythonBench.open();
  const registry = await ToolRegistry.discover({ engine: own.engine, tools: join(folder, "tools") });
  const spec = await load_spec(join(folder, "spec.yaml"));
  expect(await check_capability(spec, registry)).toMatchObject({ supported: true, issues: [] });
  const provider = scriptedProvider([{ calls: [{ name: "echo", arguments: { message: said } }] }, said]);
  const result = await run_chain(spec, {}, { registry, provider, folder });
  expect(result.last_response).toBe(said);
  // The model has been told what the tool answered.
  expect(JSON.stringify(provider.requests.at(-1))).toContain(said);
}

/** Runs the document's whole workflow with these tools in place of its own. */
async function withTools(text: string, world: World): Promise<void> {
  const whole = world.texts[18] ?? "";
  const spec = whole.replace(/^tools:\n(?: .*\n)+/m, text);
  expect(spec).not.toBe(whole);
  await runs(spec, world, "Starting workflow");
}

/** What the registry has besides the document's methods. */
const REGISTRY = `import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
logger = SimpleNamespace(warning=lambda *said, **more: None)

def get_registry(): return ToolRegistry()
`;
const LOOKUPS = `
    def list_all(self): return list(self._tools.values())
    def get(self, name): return self._tools.get(name)
`;

/**
 * Runs a program in the package that the document describes: its tools, and its registry of the blocks 21 to 25. `run`
 * is the body of a function.
 */
async function inPackage({ bench, texts }: World, program: string, run: string, args: object = {}): Promise<unknown> {
  const [kind = "", discover = "", info = "", ...lookups] = texts.slice(20, 25);
  const methods = [discover, ...lookups].map((one) => indent(one)).join("\n");
  const name = `in_package_${program.length}`;
  const folder = await temporaryFolder({
    "code/function.py": `${program}\nspec = {"name": "${name}", "description": "d"}\ndef execute(input):\n    ${run}\n`,
    "code/pytest.py": "",
    "code/strands_cli/__init__.py": "",
    "code/strands_cli/tools/__init__.py": "from .registry import get_registry\n",
    "code/strands_cli/tools/registry.py": `${REGISTRY}\n${kind}\n${methods}\n${LOOKUPS}\n${info}`,
    "code/strands_cli/tools/echo.py": texts[2] ?? "",
    "code/strands_cli/tools/python_exec.py": texts[12] ?? "",
  });
  await bench.engine.register(folder);
  const { output, error } = await bench.run(name, { ...args });
  expect(error).toBeNull();
  return output;
}
