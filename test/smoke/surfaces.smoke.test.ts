import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { MAIN, serve } from "../server/served.ts";

const run = promisify(execFile);
const ROOT = new URL("../..", import.meta.url).pathname;
const ADD = `${ROOT}fixtures/tools/add.js`;
const SUM = { sum: 3 };

test("HTTP: a call, the metrics that count it, and the console", async () => {
  await using server = await serve(["--tools", ADD]);
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ name: "add", arguments: { a: 1, b: 2 } });
  const answer = await fetch(`${server.url}/v1/execute`, { method: "POST", headers, body });
  expect([answer.status, await answer.json()]).toMatchObject([200, { success: true, output: SUM }]);
  expect(await (await fetch(`${server.url}/metrics`)).text()).toContain('glovebox_calls_total{tool="add",code="ok"} 1');
  expect(await (await fetch(server.url)).text()).toContain("<!doctype html>");
  // With Node 24 the last line was lost.
  const lines = await fetch(`${server.url}/v1/execute/batch`, {
    method: "POST",
    headers: { ...headers, accept: "application/x-ndjson" },
    body: `{"calls":[${body}]}`,
  });
  expect(JSON.parse(await lines.text())).toMatchObject({ index: 0, result: { output: SUM } });
});

test("MCP over stdio: the official client lists and calls a tool", async () => {
  const args = [...MAIN, "mcp", "--tools", ADD];
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd: ROOT, stderr: "ignore" });
  const client = new Client({ name: "smoke", version: "1.0.0" });
  await client.connect(transport);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["add", "read_output"]);
  expect((await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).structuredContent).toEqual(SUM);
  await client.close();
});

test("the command line: glovebox run prints a tool's output", async () => {
  const { stdout } = await run(process.execPath, [...MAIN, "run", ADD, "--input", '{"a": 1, "b": 2}'], { cwd: ROOT });
  expect(JSON.parse(stdout)).toEqual(SUM);
});
