import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sample, startBench, temporaryFolder } from "./bench.ts";

const PYTHON = `
class AgentSpaceV1Tool:
    def execute(self, data):
        return {}

    def execute_command(self, command_name, data):
        if command_name == "geocode":
            return data.get("location") == "no command"
        if command_name in ("up", "down") or "left" == command_name:
            return command_name
        match command_name:
            case "first":
                return 1
            case "second":
                return 2
        raise NotImplementedError(f"Unknown command: {command_name}")
`;
const JAVASCRIPT = `
export class AgentSpaceV1Tool {
  execute() { return {}; }
  async execute_command(command, data) {
    if (command === "geocode") return data.location === "no command";
    if (command == 'up') return 1;
    switch (command) { case "first": return 1; case "second": return 2; }
    throw new Error("unknown command " + command);
  }
}
`;
const WITHOUT = "export class AgentSpaceV1Tool { execute() { return {}; } }";

// Nothing else says which commands a tool knows: a record does not, and the code runs nowhere but in an isolate.
test.each([
  ["function.py", PYTHON, ["geocode", "up", "down", "left", "first", "second"]],
  ["function.js", JAVASCRIPT, ["geocode", "up", "first", "second"]],
  ["function.js", WITHOUT, undefined],
])("the commands of a tool are those that its code compares with: %s", async (name, code, expected) => {
  const { registry } = await startBench();
  const folder = join(await temporaryFolder(), "package");
  await mkdir(join(folder, "code"), { recursive: true });
  await writeFile(join(folder, "code", name), code);
  registry.register(sample("greeting-tool-v1", { tool_source_code_link: folder }));
  const { commands } = await registry.load("greeting-tool-v1");
  expect(commands).toEqual(expected);
});
