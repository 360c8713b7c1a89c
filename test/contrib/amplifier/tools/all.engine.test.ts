import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { referenceTool } from "../../../../src/contrib/amplifier/reference-tools.ts";
import { createEngine } from "../../../../src/glovebox/index.ts";

const TOOLS = path.dirname(referenceTool("echo"));

test("all of the tools that come with the engine are registered by their folder [A43]", async () => {
  await using engine = await createEngine({ workers: 1, executor: "threads" });
  await engine.register(TOOLS);
  expect(engine.list().map(({ name, contract }) => [name, contract])).toEqual([
    ["bash", "amplifier"],
    ["calculator", "strands"],
    ["echo", "strands"],
    ["edit_file", "amplifier"],
    ["js_exec", "strands"],
    ["list_directory", "amplifier"],
    ["python_exec", "strands"],
    ["read_file", "amplifier"],
    ["web_fetch", "amplifier"],
    ["write_file", "amplifier"],
  ]);
}, 300_000);

test("each of their modules is there by its name", () => {
  const names = ["bash", "calculator", "echo", "filesystem", "js_exec", "python_exec", "web"] as const;
  const parsed = readdirSync(TOOLS).map((name) => path.parse(name));
  const modules = parsed.filter(({ ext, name }) => [".ts", ".js", ".py"].includes(ext) && !name.endsWith(".d"));
  expect(names.map((name) => path.basename(referenceTool(name)))).toEqual(modules.map(({ base }) => base));
});
