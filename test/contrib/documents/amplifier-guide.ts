import { expect } from "vitest";
import { type Document, indent, type World } from "./block.ts";

const RESULT = "from amplifier_core.models import ToolResult\n";
/** A tool with a method of the document's, under this name. */
const tool = (name: string, method: string, more = ""): string => `${RESULT}
class MyTool:
    name = "${name}"
    description = "Does something."
    def __init__(self, config): self.config = config
${more}
${indent(method)}
`;

export const AMPLIFIER_GUIDE: Document = {
  file: "amplifier-tool-guide.md",
  isFenced: true,
  blocks: [
    {
      starts: "from typing import Protocol",
      is: "program",
      fixture: "amplifier/python/tool_protocol.py",
      run: async (text, { bench }) => {
        const source = `${text}
class Whole:
    name, description = "a", "b"
    async def execute(self, input): ...
class Half:
    name = "a"
def execute(input): return [isinstance(Whole(), Tool), isinstance(Half(), Tool)]`;
        expect((await bench.once(source)).output).toEqual([true, false]);
      },
    },
    {
      starts: "async def mount(coordinator, config=None):",
      is: "program",
      fixture: "amplifier/python/mount.py",
      run: async (text, { bench }) => {
        const method = "async def execute(self, input): return ToolResult(output=self.config)";
        const cleanup = 'def cleanup_function(): print("cleaned")\n';
        await bench.register(tool("guide_mounted", method) + cleanup + text);
        const { output, metadata } = await bench.run("guide_mounted");
        expect([output, metadata.logs.map(({ message }) => message)]).toEqual([{}, ["cleaned"]]);
      },
    },
    {
      starts: "from dataclasses import dataclass, field",
      is: "program",
      fixture: "amplifier/python/tool_result.py",
      run: async (text, { bench }) => {
        const said =
          "[ToolResult(True, 'a'), ToolResult(False, error={'message': 'no'}), ToolResult(False, error={'type': 'T'})]";
        const source = `${text}\ndef execute(input): return [one.get_serialized_output() for one in ${said}]`;
        expect((await bench.once(source)).output).toEqual(["a", "Error: no", "Error: Unknown error"]);
      },
    },
    {
      starts: "input_schema = {",
      is: "input",
      fixture: "amplifier/python/input_schema.py",
      run: async (text, { bench }) => {
        await bench.register(
          tool("guide_schema", "async def execute(self, input): return ToolResult(output=input)", indent(text)),
        );
        expect((await bench.run("guide_schema", { path: "a" })).output).toEqual({ path: "a", encoding: "utf-8" });
        expect((await bench.run("guide_schema", {})).error?.code).toBe("invalid_arguments");
      },
    },
    {
      starts: "from pathlib import Path",
      is: "program",
      fixture: "amplifier/python/read_file.py",
      run: async (text, { bench }) => {
        expect(await bench.register(text)).toEqual(["read_file"]);
        expect((await bench.run("read_file", { path: "/tmp/none" })).error).toMatchObject({
          type: "FileNotFoundError",
        });
      },
    },
    {
      starts: "import asyncio",
      is: "program",
      fixture: "amplifier/python/bash.py",
      run: async (text, { bench }) => {
        expect(await bench.register(text)).toEqual(["bash"]);
        expect((await bench.run("bash", { command: "rm -rf / now" })).error).toMatchObject({ type: "SecurityError" });
      },
    },
    {
      starts: "async def execute(self, input: dict) -> ToolResult:\n    try:",
      is: "program",
      fixture: "amplifier/python/graceful.py",
      run: async (text, { bench }) => {
        const work = "    async def _do_work(self, input): return {'PermissionError': input['a']}[input['ends']]";
        await bench.register(tool("guide_graceful", text, work));
        expect((await bench.run("guide_graceful", { ends: "PermissionError", a: 1 })).output).toBe(1);
        expect((await bench.run("guide_graceful", { ends: "x", a: 1 })).error).toMatchObject({
          message: "Unexpected error: 'x'",
          type: "KeyError",
        });
      },
    },
    {
      starts: "async def execute(self, input: dict) -> ToolResult:\n    content",
      is: "program",
      fixture: "amplifier/python/token_aware.py",
      run: async (text, { bench }: World) => {
        await bench.register(
          tool("guide_cut", text, "    async def _fetch_content(self, input): return 'x' * input['chars']"),
        );
        expect((await bench.run("guide_cut", { chars: 50_003 })).output).toMatch(
          /x\n\n\[Truncated: 3 chars remaining\]$/,
        );
      },
    },
  ],
};
