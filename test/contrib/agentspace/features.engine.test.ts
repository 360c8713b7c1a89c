import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { ToolError } from "../../../src/glovebox/index.ts";
import { moduleFile, sample, startBench, temporaryFolder } from "./bench.ts";

const README = readFileSync(
  fileURLToPath(new URL("../../../src/contrib/agentspace/README.md", import.meta.url)),
  "utf8",
);

/** The table's rows, by their features. */
function features(): ReadonlyMap<string, { readonly interpreted: string; readonly binary: string }> {
  const [, table = ""] = /<!-- features:.*?-->([\s\S]*)<!-- \/features -->/.exec(README) ?? [];
  const rows = table
    .trim()
    .split("\n")
    .slice(2)
    .map((row) => row.split("|").map((cell) => cell.trim()));
  return new Map(rows.map(([, feature = "", interpreted = "", binary = ""]) => [feature, { interpreted, binary }]));
}

/** A package with these files in `code/`; answers why it cannot be called, or nothing where it can. */
async function refusalOf(files: Record<string, string>, runtime = "python"): Promise<ToolError | null> {
  const folder = join(await temporaryFolder(), "package");
  await mkdir(join(folder, "code"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, "code", name), text);
  const { registry } = await startBench();
  registry.register(sample("greeting-tool-v1", { tool_source_code_link: folder, tool_runtime_type: runtime }));
  return (await registry.execute({ name: "greeting-tool-v1", arguments: {} })).error;
}

const TOOL = "export class AgentSpaceV1Tool { execute() { return { message: 'made' }; } }";

const PYTHON_TOOL =
  "class AgentSpaceV1Tool:\n    def execute(self, data, *more):\n        return {'message': 'made'}\n";

test("the table of the two runtimes compares what the guide compares [C77]", () => {
  const known = [...features().keys()];
  for (const feature of [
    "Implementation language",
    "Entry class required",
    "Input interface",
    "Output interface",
    "Dependencies",
    "Packaging format",
    "Execution environment",
    "Dynamic import support",
    "Cross-platform portability",
    "Supports custom commands",
    "Use cases",
    "Execution speed",
    "Flexibility",
    "Deployment overhead",
    "Error logging",
  ]) {
    expect(known).toContain(feature);
  }
});

test("tools are what the table says [C77]", async () => {
  const table = features();
  expect(table.get("Available here")).toMatchObject({ interpreted: "yes", binary: expect.stringMatching(/^where/) });
  for (const name of ["function.js", "function.mjs", "function.ts"]) {
    expect(table.get("Packaging format")?.interpreted).toContain(name.slice("function".length));
    expect(await refusalOf({ [name]: TOOL })).toBeNull();
  }
  expect((await refusalOf({ binary_increment: "\u007fELF" }, "binary"))?.message).toContain("platform mismatch");
  expect(table.get("Packaging format")?.interpreted).toContain(".py");
  expect(await refusalOf({ "function.py": PYTHON_TOOL })).toBeNull();
  expect((await refusalOf({ "function.py": PYTHON_TOOL, "requirements.txt": "numpy" }))?.message).toContain("compiled");
  expect((await refusalOf({ "function.js": TOOL }, "binary"))?.message).toContain("/tool_runtime_type: is binary");
});

test("commands and dynamic imports are what the table says [C77]", async () => {
  const table = features();
  expect(table.get("Supports custom commands")).toEqual({ interpreted: "yes", binary: "no" });
  expect(table.get("Dynamic import support")?.interpreted).toMatch(/^no/);
  const { registry } = await startBench();
  registry.register(sample("greeting-tool-v1"));
  const command = { name: "greeting-tool-v1", arguments: { text: "ab" }, command: "uppercase" };
  expect((await registry.execute(command)).output).toBe("AB");
  const source = "export class AgentSpaceV1Tool { async execute({ name }) { return import(name); } }";
  registry.register(
    sample("greeting-tool-v1", { tool_id: "imports", tool_source_code_link: await moduleFile(source) }),
  );
  const { success } = await registry.execute({ name: "imports", arguments: { name: "./other.js" } });
  expect(success).toBe(false);
});
