import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const REVISION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientInfo": { name: "tester", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

let engine: Engine;
let server: Server;
let calls = 0;

beforeAll(async () => {
  const region = { type: "string", "x-mcp-header": "Region" };
  const tool = {
    name: "route",
    description: "Returns its region.",
    inputSchema: { type: "object", properties: { region } },
    source: "export default ({ region }) => region;",
  };
  engine = await createEngine({ workers: 1, executor: "threads", tools: [tool] });
  engine.on("tool:pre", () => void calls++);
  server = await createServer(engine, { port: 0 });
});
afterAll(() => server.close());

const call = (headers: Record<string, string>): Promise<Response> =>
  fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": "tools/call",
      "mcp-name": "route",
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: "one",
      method: "tools/call",
      params: { name: "route", arguments: { region: "eu" }, _meta: META },
    }),
  });

test("the official client sends the headers, and its call runs", async () => {
  const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
  await client.listTools();
  const { content } = await client.callTool({ name: "route", arguments: { region: "Zürich" } });
  expect(content).toEqual([{ type: "text", text: "Zürich" }]);
  await client.close();
});

test("a call whose header contradicts its argument is refused, and does not run", async () => {
  const before = calls;
  const response = await call({ "mcp-param-region": "us" });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({
    jsonrpc: "2.0",
    id: "one",
    error: {
      code: -32_020,
      message: "the headers and the body disagree: Mcp-Param-Region: the argument differs",
      data: { mismatch: { header: "Mcp-Param-Region", body: "the argument differs" } },
    },
  });
  expect(calls).toBe(before);
  expect((await call({ "mcp-param-region": "eu" })).status).toBe(200);
  expect(calls).toBe(before + 1);
});

test("a request that the protocol refuses anyway is refused for that", async () => {
  const response = await call({ "mcp-method": "tools/list", "mcp-param-region": "us" });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining("Mcp-Method") } });
});
