import { expect } from "vitest";
import { agentspace } from "../../../src/contrib/agentspace/contract/agentspace.ts";
import { readRequirement } from "../../../src/python/runtime/requirement.ts";
import { type Document, indent, type World } from "./block.ts";

const SHELL = "A command of a shell; the tests of assets upload with curl.";

/** Reads a registration as a tool. */
function record(text: string, name: string): void {
  expect(agentspace.readTool(JSON.parse(text))).toMatchObject({ name });
}

/** Runs one method of the interface, as the document writes it, in a class with the others. */
function signature(others: string): (text: string, world: World) => Promise<void> {
  return async (text, { bench }) => {
    const source = `class AgentSpaceV1Tool:\n${indent(`${text}\n    return None\n${others}`)}`;
    const [name = ""] = await bench.register(source);
    expect(bench.engine.get(name)?.contract).toBe("agentspace");
    await bench.engine.unregister(name);
  };
}
const EXECUTE = "def execute(self, input_data): return {}";

export const AGENTSPACE: Document = {
  file: "agentspace-tools.md",
  isFenced: false,
  blocks: [
    { starts: "tool_package/", ends: "dependencies for the tool", is: "none", why: "The layout of folders." },
    {
      starts: "def __init__(self, tool_id: str, tool_data: dict):",
      is: "program",
      run: signature(EXECUTE),
    },
    { starts: "def execute(self, input_data: dict) -> dict:", is: "program", run: signature("") },
    {
      starts: "def execute_command(self, command_name: str, data: dict):",
      is: "program",
      run: signature(EXECUTE),
    },
    {
      starts: "numpy\npillow\nrequests",
      is: "input",
      run: async (text) => {
        expect(text.split("\n").map((line) => readRequirement(line, "line").name)).toEqual([
          "numpy",
          "pillow",
          "requests",
        ]);
      },
    },
    {
      starts:
        "class AgentSpaceV1Tool:\n    def __init__(self, tool_id, tool_data):\n        self.tool_id = tool_id\n        self.config = tool_data\n\n    def execute",
      ends: 'raise NotImplementedError(f"Unknown command: {command_name}")',
      is: "program",
      fixture: "agentspace/python/greeting-tool-v1/code/function.py",
      run: async (text, { bench }) => {
        const [name = ""] = await bench.register(text);
        expect((await bench.run(name, { name: "Ann" })).output).toEqual({ message: `Hello, Ann from tool ${name}` });
        const call = { name, command: "uppercase", arguments: { text: "abc" } };
        expect((await bench.engine.execute(call)).output).toBe("ABC");
        const unknown = await bench.engine.execute({ ...call, command: "shout" });
        expect(unknown.error).toMatchObject({ type: "NotImplementedError", message: "Unknown command: shout" });
      },
    },
    {
      starts: '{\n  "input": {\n    "name": {',
      ends: 'greeting"\n    }\n  }\n}',
      is: "input",
      run: async (text) => {
        const tools_api_spec = JSON.parse(text) as unknown;
        const tool = {
          tool_id: "greeting",
          tool_runtime_type: "python",
          tool_source_code_link: "x.zip",
          tools_api_spec,
        };
        expect(agentspace.readTool(tool)).toMatchObject({ inputSchema: { properties: { name: { type: "string" } } } });
      },
    },
    {
      starts: '{\n  "tool_id": "greeting-tool-v1",',
      ends: '"output": { ... }\n  }\n}',
      is: "input",
      run: async (text) => record(text.replaceAll("{ ... }", "{}"), "greeting-tool-v1"),
    },
    { starts: "weather-forecast-v1/\n", ends: "Lists dependencies.", is: "none", why: "The layout of folders." },
    {
      starts: "import requests\n\nclass AgentSpaceV1Tool:",
      ends: '"conditions": next_day["weather"][0]["description"]\n        }',
      is: "program",
      fixture: "agentspace/python/weather-forecast-v1/code/function.py",
      run: async (text, { bench }) => {
        const [name = ""] = await bench.register(text);
        const missing = await bench.run(name, {});
        expect(missing.error).toMatchObject({ type: "ValueError", message: "Missing required input: location" });
        expect((await bench.run(name, { location: "Oslo" })).error?.message).toContain("fetch");
      },
    },
    {
      after: "3. Requirements File",
      starts: "requests\n",
      is: "input",
      run: async (text) => expect(readRequirement(text.trim(), "line").name).toBe("requests"),
    },
    { starts: "cd weather-forecast-v1\n", ends: "code/", is: "none", why: SHELL },
    { starts: "curl -X POST", ends: "}'", is: "none", why: SHELL },
    {
      starts: '{\n  "tool_id": "weather-forecast-v1",',
      ends: 'tools/weather-forecast-v1"\n}',
      is: "input",
      run: async (text) => record(text, "weather-forecast-v1"),
    },
    { starts: "binary-tool-v1/\n", ends: "(no subdirectories)", is: "none", why: "The layout of folders." },
    {
      starts: '{\n  "tool_id": "binary-tool-v1",',
      ends: '"value": 42 }\n}',
      is: "input",
      run: async (text) => {
        expect(JSON.parse(text)).toMatchObject({ mode: "input", input: { value: 42 }, tool_data: { param: "value" } });
      },
    },
    {
      starts: '{\n  "result": 43,',
      ends: "}",
      is: "input",
      run: async (text) => expect(agentspace.readResult(JSON.parse(text))).toMatchObject({ output: { result: 43 } }),
    },
    {
      starts: "package main\n",
      ends: "json.NewEncoder(outFile).Encode(output)\n}",
      is: "none",
      why: "A program in Go, for its compiler; the tests of binaries run the same in C.",
    },
    { starts: "go build -o", ends: "binary-tool-v1.zip code/", is: "none", why: SHELL },
    { starts: "curl -X POST", ends: "}'", is: "none", why: SHELL },
    {
      starts: '{\n  "tool_id": "binary-increment-tool",',
      ends: 'tools/binary-increment-tool"\n}',
      is: "input",
      run: async (text) => record(text, "binary-increment-tool"),
    },
  ],
};
