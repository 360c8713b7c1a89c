import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const ECHO = "export default (input) => input;";
const TOOLS = [
  { name: "math.add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
  { name: "math.double", description: "Doubles.", source: "export default ({ a }) => 2 * a;" },
  { name: "vault.read", description: "Reads a secret.", source: ECHO },
];
const [all, narrow, adder, slow] = [createKey(), createKey(), createKey(), createKey()];

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: TOOLS,
    codeMode: { tools: ["math.*", "vault.*"], typeCheck: "off" },
  });
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: [
      { name: "all", hash: all.hash, tenant: null, roles: ["execute"] },
      {
        name: "narrow",
        hash: narrow.hash,
        tenant: "acme",
        roles: ["execute"],
        tools: ["run_code", "search_tools", "math.*"],
      },
      { name: "adder", hash: adder.hash, tenant: "acme", roles: ["execute"], tools: ["math.add"] },
      { name: "slow", hash: slow.hash, tenant: "acme", roles: ["execute"], rate: { calls: 2, perMs: 600_000 } },
    ],
  });
});
afterAll(() => server.close());

async function send(method: string, path: string, key: string, body?: unknown) {
  const response = await conformingFetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const runCode = (code: string, key = all.secret) =>
  send("POST", "/v1/execute", key, { id: "c1", name: "run_code", arguments: { code } });

test("POST /v1/execute runs a program, though no list of tools has run_code", async () => {
  const { status, body } = await runCode("return await tools.math.add({ a: await tools.math.double({ a: 2 }), b: 1 })");
  expect(status).toBe(200);
  expect(body).toMatchObject({
    success: true,
    output: { result: 5, calls: [{ tool: "math.double" }, { tool: "math.add" }] },
  });
  const { body: listed } = await send("GET", "/v1/tools", all.secret);
  expect((listed as unknown as { name: string }[]).map(({ name }) => name)).toEqual([
    "math.add",
    "math.double",
    "vault.read",
  ]);
});

test("a program with a mistake is answered with 400 and its place", async () => {
  const { status, body } = await runCode("const a = ;");
  expect(status).toBe(400);
  expect(body["error"]).toMatchObject({ code: "invalid_arguments", details: { problems: [{ line: 1, column: 11 }] } });
});

describe("a key with tools of its own", () => {
  test("calls these and no others in a program", async () => {
    const { body } = await runCode("await tools.math.add({ a: 1, b: 1 }); await tools.vault.read({})", narrow.secret);
    expect(body["error"]).toMatchObject({
      message: expect.stringContaining('there is no tool "vault.read"') as string,
      details: {
        calls: [
          { tool: "math.add", code: "ok" },
          { tool: "vault.read", code: "tool_not_found" },
        ],
      },
    });
  });

  test("is shown the declarations of these", async () => {
    const { body } = await send("GET", "/v1/code/declarations", narrow.secret);
    expect(body).toMatchObject({ declared: ["math.add", "math.double"], total: 2 });
    expect(body["text"]).not.toContain("vault");
  });

  test("runs no program and searches no tools where it names neither run_code nor search_tools", async () => {
    expect((await runCode("return 1", adder.secret)).status).toBe(404);
    const searched = await send("POST", "/v1/execute", adder.secret, {
      name: "search_tools",
      arguments: { query: "" },
    });
    expect(searched.status).toBe(404);
  });
});

test("POST /v1/code/check finds mistakes without running the program", async () => {
  const good = await send("POST", "/v1/code/check", all.secret, { code: "return await tools.vault.read({})" });
  expect(good).toEqual({ status: 200, body: { problems: [] } });
  const bad = await send("POST", "/v1/code/check", all.secret, { code: "return 1;\nimport a from 'a';" });
  expect(bad.body["problems"]).toMatchObject([{ code: "import" }]);
  expect((await send("POST", "/v1/code/check", all.secret, { text: 1 })).status).toBe(400);
});

test("POST /v1/code/check reads no program of a key that does not name run_code", async () => {
  expect((await send("POST", "/v1/code/check", adder.secret, { code: "return 1" })).status).toBe(404);
});

test("a program that is refused counts against the rate of its key", async () => {
  expect((await runCode("const a = ;", slow.secret)).status).toBe(400);
  expect((await send("POST", "/v1/code/check", slow.secret, { code: "const b = ;" })).status).toBe(200);
  const { status, body } = await runCode("const c = ;", slow.secret);
  expect([status, body["error"]]).toMatchObject([429, { code: "rate_limited" }]);
});

async function connect(path: string, key: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}${path}`), { requestInit }));
  return client;
}

describe("an MCP client", () => {
  test("of /mcp/code sees run_code and search_tools only, and runs a program", async () => {
    const client = await connect("/mcp/code", narrow.secret);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["run_code", "search_tools"]);
    expect(tools[0]?.description).toContain("All 2 tools are declared below.");
    const result = await client.callTool({
      name: "run_code",
      arguments: { code: "return await tools.math.add({ a: 1, b: 2 })" },
    });
    expect(result.structuredContent).toMatchObject({ result: 3, calls: [{ tool: "math.add", code: "ok" }] });
    const found = await client.callTool({ name: "search_tools", arguments: { query: "double" } });
    expect(found.structuredContent).toMatchObject({ total: 1, of: 2, matches: [{ name: "math.double" }] });
    await client.close();
  });

  test("of /mcp sees all tools", async () => {
    const client = await connect("/mcp", all.secret);
    const names = ["math.add", "math.double", "read_output", "vault.read"];
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(names);
    await client.close();
  });

  test("that calls a hidden tool directly is told how to call it", async () => {
    const client = await connect("/mcp/code", all.secret);
    const called = client.callTool({ name: "math.add", arguments: { a: 1, b: 2 } });
    await expect(called).rejects.toThrow(/return await tools\.math\.add\(\{ … \}\);/);
    await client.close();
  });
});

test("a server without the option has neither the tools nor the routes", async () => {
  const plain = await createEngine({ workers: 1, executor: "threads", tools: TOOLS });
  await using other = await createServer(plain, { port: 0, drainMs: 100 });
  const post = (path: string, body: unknown) =>
    fetch(`${other.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  expect((await post("/v1/execute", { name: "run_code", arguments: { code: "return 1" } })).status).toBe(404);
  expect((await post("/mcp/code", {})).status).toBe(404);
  expect((await fetch(`${other.url}/v1/code/declarations`)).status).toBe(404);
});

test("a server has the tools and the routes while its engine has the option", async () => {
  const options = { workers: 1, executor: "threads", tools: TOOLS } as const;
  const changing = await createEngine(options);
  await using other = await createServer(changing, { port: 0, drainMs: 100 });
  const statuses = async (): Promise<readonly (number | boolean)[]> => {
    const [run, mcp] = await Promise.all(
      [
        ["/v1/execute", { name: "run_code", arguments: { code: "return 1" } }] as const,
        ["/mcp/code", { jsonrpc: "2.0", id: 1, method: "ping" }] as const,
      ].map(async ([path, body]) => {
        const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
        return fetch(`${other.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      }),
    );
    const declared = await conformingFetch(`${other.url}/v1/code/declarations`, {});
    const page = await (await fetch(other.url)).text();
    return [run?.status ?? 0, mcp?.status === 404, declared.status, page.includes("data-code-mode")];
  };
  const [off, on] = [
    [404, true, 404, false],
    [200, false, 200, true],
  ];
  expect(await statuses()).toEqual(off);
  expect(await changing.reconfigure({ ...options, codeMode: { typeCheck: "off" } })).toMatchObject({ needRestart: [] });
  expect(await statuses()).toEqual(on);
  await changing.reconfigure(options);
  expect(await statuses()).toEqual(off);
});
