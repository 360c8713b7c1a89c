import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN } from "../server/served.ts";
import { type Ended, glovebox, ROOT } from "./command.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-code-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(program: string, ...args: readonly string[]): Promise<Ended> {
  const file = join(folder, "program.ts");
  writeFileSync(file, program);
  return glovebox(ROOT, ["code", file, "--tools", "fixtures/tools", ...args]);
}

describe("glovebox code", () => {
  test("prints what a program returned, and its console beside it", async () => {
    const { code, stdout, stderr } = await run(
      "const { sum } = await tools.add({ a: input.a, b: 2 });\nconsole.log('added');\nreturn { sum };",
      "--input",
      '{"a":1}',
    );
    expect([code, stdout, stderr]).toEqual([0, '{"sum":3}\n', "[log] added\n"]);
  });

  test("prints the whole result with --result", async () => {
    const { stdout } = await run("return await tools.add({ a: 1, b: 2 })", "--result");
    expect(JSON.parse(stdout)).toMatchObject({
      success: true,
      output: { result: { sum: 3 }, calls: [{ tool: "add" }] },
    });
  });

  test("exits with 3 for a program that cannot be read, and with 1 for one that fails", async () => {
    const unreadable = await run("const a = ;");
    expect([unreadable.code, unreadable.stdout]).toEqual([3, ""]);
    expect(unreadable.stderr).toContain("1:11  Expression expected");
    const misspelt = await run("return await tools.ad({ a: 1, b: 2 })");
    expect(misspelt.code).toBe(3);
    expect(misspelt.stderr).toContain("Did you mean tools.add");
    const failed = await run("const { sum } = await tools.add({ a: 1, b: 2 });\nthrow new Error(`no ${sum}`);");
    expect([failed.code, failed.stderr]).toEqual([
      1,
      "glovebox: tool_error: line 2, column 7: Error: no 3\nCalls of tools: add ok.\n",
    ]);
  });
});

test("glovebox mcp --code serves the pair over stdin and stdout", async () => {
  const client = new Client({ name: "test", version: "1" });
  const args = [...MAIN, "mcp", "--code", "fixtures/tools"];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["run_code", "search_tools"]);
  const called = await client.callTool({
    name: "run_code",
    arguments: { code: "return (await tools.add({ a: 1, b: 2 })).sum" },
  });
  expect(called.structuredContent).toMatchObject({ result: 3 });
  await client.close();
}, 300_000);

test("glovebox mcp --code has programs call tools of the registry, which were never called", async () => {
  const config = join(folder, "agentspace.config.json");
  const code = join(folder, "greet.js");
  const record = join(folder, "greet.json");
  writeFileSync(config, JSON.stringify({ agentspace: { path: join(folder, "agentspace.sqlite") } }));
  writeFileSync(code, "export class AgentSpaceV1Tool { execute({ name }) { return { message: `Hello, ${name}` }; } }");
  const spec = { input: { name: { type: "string" } }, output: { message: { type: "string" } } };
  const tool = {
    tool_id: "greet.by_name",
    tool_runtime_type: "javascript",
    tool_source_code_link: code,
    tools_api_spec: spec,
  };
  writeFileSync(record, JSON.stringify(tool));
  await glovebox(ROOT, ["agentspace", "register", record, "--config", config]);
  const client = new Client({ name: "test", version: "1" });
  const args = [...MAIN, "mcp", "--code", "--tools", "fixtures/tools", "--config", config];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  const called = await client.callTool({
    name: "run_code",
    arguments: { code: "return (await tools.greet.by_name({ name: 'Ann' })).message" },
  });
  await client.close();
  expect(called.structuredContent).toMatchObject({
    result: "Hello, Ann",
    calls: [{ tool: "greet.by_name", code: "ok" }],
  });
}, 300_000);

describe("glovebox explain run_code", () => {
  const explain = (...args: readonly string[]): Promise<Ended> => {
    const config = join(folder, "glovebox.config.json");
    const hash = `sha256:${"0".repeat(64)}`;
    const keys = [{ name: "agent", hash, tenant: "acme", roles: ["execute"], tools: ["run_code", "add"] }];
    writeFileSync(config, JSON.stringify({ codeMode: { tools: ["add", "slug*"] }, keys }));
    return glovebox(ROOT, ["explain", "run_code", "--tools", "fixtures/tools", "--config", config, ...args]);
  };

  test("says which tools programs may call, and why not", async () => {
    const { code, stdout } = await explain();
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^programs may call 2 of \d+ tools:\n {2}add +codeMode\.tools\[0\]\n {2}slugify +codeMode\.tools\[1\]$/m,
    );
    expect(stdout).toMatch(/^ {2}countdown +no name in codeMode\.tools matches it$/m);
  });

  test("of a key has its tenant and its tools", async () => {
    const { stdout } = await explain("--key", "agent");
    expect(stdout).toContain("run_code for tenant acme, isolation isolate");
    expect(stdout).toMatch(/^ {2}add +codeMode\.tools\[0\], key\.tools\[1\]$/m);
    expect(stdout).toMatch(/^ {2}slugify +no name in key\.tools matches it$/m);
    expect(await explain("--key", "nobody")).toMatchObject({ code: 2, stdout: "" });
  });
});
