import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/index.ts";
import { createServer, type Server } from "../../../src/service/http/server.ts";

let engine: Engine;
let server: Server;
let client: Client;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", tools: ["fixtures/tools"] });
  server = await createServer(engine, { port: 0 });
  client = new Client({ name: "tester", version: "1.0.0" });
  // Its declaration leaves optional members out of `exactOptionalPropertyTypes`.
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)) as Parameters<Client["connect"]>[0];
  await client.connect(transport);
});
afterAll(async () => {
  await client.close();
  await server.close();
});

describe("a client of the official SDK's first version", () => {
  test("lists all tools, of which one has a boolean schema; its information says what clients get", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(engine.list().map(({ name }) => name));
    expect(engine.get("run-script")).toMatchObject({
      outputSchema: { properties: { value: true } },
      mcpRewrites: [{ pointer: "/outputSchema/properties/value", reason: "true is {}" }],
    });
    expect(engine.get("add")).not.toHaveProperty("mcpRewrites");
  });

  test("calls a tool, and checks what is structured against its schema", async () => {
    await client.listTools();
    const result = await client.callTool({ name: "run-script", arguments: { code: "return [1];" } });
    expect(result.structuredContent).toEqual({ value: [1], console: [] });
  });
});
