import { createServer as createNodeServer } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import express from "express";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { type McpHandler, toMcpHandler } from "../../../src/server/handlers/index.ts";
import { createWebServer, listen } from "./web-server.ts";

const TOOLS = [
  { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
  { name: "secret", description: "Has a secret.", source: "export default () => 1;" },
];

let engine: Engine;
let handler: McpHandler;
let cleanup: AsyncDisposableStack;

beforeEach(async () => {
  cleanup = new AsyncDisposableStack();
  engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS });
  cleanup.defer(() => engine.close({ drainMs: 0 }));
  handler = toMcpHandler(engine, {
    authenticate: ({ headers }) =>
      headers.get("x-user") === null
        ? null
        : { name: headers.get("x-user") ?? "", tenant: "a", roles: ["execute"], tools: ["add"] },
  });
});

afterEach(() => cleanup.disposeAsync());

const SERVERS = {
  "Express under /x/mcp": () => createNodeServer(express().use("/x/mcp", handler.node)),
  "Express with express.json() under /x/mcp": () =>
    createNodeServer(express().use(express.json()).use("/x/mcp", handler.node)),
  "a server of Request and Response": () => createWebServer(handler.fetch),
};

async function connect(url: string, user: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { "x-user": user } } });
  // Its declaration leaves optional members out of `exactOptionalPropertyTypes`.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  cleanup.defer(() => client.close());
  return client;
}

describe.each(Object.entries(SERVERS))("MCP in %s", (_name, create) => {
  const open = async (): Promise<string> => {
    const server = create();
    const url = await listen(server);
    cleanup.defer(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return `${url}/x/mcp`;
  };

  test("lists a caller's tools and calls one", async () => {
    const client = await connect(await open(), "ada");
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["add", "read_output"]);
    const { content } = await client.callTool({ name: "add", arguments: { a: 1, b: 2 } });
    expect(content).toEqual([{ type: "text", text: "3" }]);
  });

  test("refuses a stranger", async () => {
    const response = await fetch(await open(), { method: "POST" });
    expect(response.status).toBe(401);
  });

  test("gives nobody the session of somebody else", async () => {
    const url = await open();
    const client = await connect(url, "ada");
    const { sessionId = "" } = client.transport ?? {};
    const ask = (user: string): Promise<Response> =>
      fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "x-user": user,
          "mcp-session-id": sessionId,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      });
    expect([(await ask("ada")).status, (await ask("ben")).status]).toEqual([200, 404]);
  });

  test("ends its sessions when it is closed, and the engine goes on", async () => {
    const client = await connect(await open(), "ada");
    await handler.close();
    await expect(client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).rejects.toThrow();
    expect((await engine.execute({ name: "add", arguments: { a: 1, b: 2 } })).output).toBe(3);
  });
});
