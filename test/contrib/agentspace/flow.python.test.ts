import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zipSync } from "fflate";
import { expect, test } from "vitest";
import { sample, startBench, temporaryFolder } from "./bench.ts";

const PYTHON = `
imported = []

class AgentSpaceV1Tool:
    made = 0

    def __init__(self, tool_id, tool_data):
        AgentSpaceV1Tool.made += 1
        imported.append(tool_id)

    def execute(self, data):
        return {"made": self.made, "imported": len(imported)}

    def execute_command(self, name, data):
        return self.execute(data)
`;
const JAVASCRIPT = `
const imported = [];
export class AgentSpaceV1Tool {
  static made = 0;
  constructor(toolId) {
    AgentSpaceV1Tool.made++;
    imported.push(toolId);
  }
  execute() {
    return { made: AgentSpaceV1Tool.made, imported: imported.length };
  }
  execute_command() {
    return this.execute();
  }
}
`;

// The guide's execution flow: on a request, the package is downloaded or extracted, its dependencies are installed, the
// class is imported and initialized, and then executed. What comes before the import is the same for each request.
test.each([
  ["function.py", PYTHON],
  ["function.js", JAVASCRIPT],
])(
  "each request imports %s and initializes its class anew; its package is fetched, extracted and installed once [C47 C49]",
  async (name, code) => {
    const { engine, registry } = await startBench();
    const folder = join(await temporaryFolder(), "packages");
    await mkdir(folder);
    await writeFile(join(folder, "counts.zip"), zipSync({ [`code/${name}`]: Buffer.from(code) }));
    const steps: string[] = [];
    engine.on("package:step", ({ step }) => steps.push(step));
    const link = join(folder, "counts.zip");
    const spec = { input: {}, output: {} };
    registry.register(sample("greeting-tool-v1", { tool_source_code_link: link, tools_api_spec: spec }));
    const call = { name: "greeting-tool-v1", arguments: {} };
    const first = { made: 1, imported: 1 };
    for (const command of [undefined, undefined, "again"]) {
      const { output } = await registry.execute(command === undefined ? call : { ...call, command });
      expect(output).toEqual(first);
    }
    expect(steps).toEqual(["fetch", "extract", "install", "initialize"]);
  },
);
