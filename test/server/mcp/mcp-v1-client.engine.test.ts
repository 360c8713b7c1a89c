import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

let engine: Engine;
let server: Server;
let client: Client;

const SLOW = {
  name: "slow",
  description: "Waits.",
  source: "export default () => new Promise((resolve) => setTimeout(resolve, 60_000));",
};
const MANY = Array.from({ length: 105 }, (_, index) => ({
  name: `tool_${index}`,
  description: "Is one of many.",
  source: "export default () => 1;",
}));

async function connect({ url }: Server): Promise<Client> {
  const connected = new Client({ name: "tester", version: "1.0.0" });
  // Its declaration leaves optional members out of `exactOptionalPropertyTypes`.
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`)) as Parameters<Client["connect"]>[0];
  await connected.connect(transport);
  return connected;
}

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", tools: ["fixtures/tools", SLOW] });
  server = await createServer(engine, { port: 0 });
  client = await connect(server);
});
afterAll(async () => {
  await client.close();
  await server.close();
});

describe("a client of the official SDK's first version", () => {
  test("lists all tools, of which one has a boolean schema; its information says what clients get", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...engine.list().map(({ name }) => name), "read_output"].toSorted());
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

  test("gets all pages of a long list", async () => {
    const own = await createEngine({ workers: 1, executor: "threads", tools: MANY });
    const many = await createServer(own, { port: 0 });
    const other = await connect(many);
    const first = await other.listTools();
    const second = await other.listTools({ cursor: first.nextCursor });
    expect([first.tools.length, second.tools.length, second.nextCursor]).toEqual([100, 6, undefined]);
    await other.close();
    await many.close();
  });

  test("cancels the call of a request that it aborts", async () => {
    const controller = new AbortController();
    const failed = new Promise<unknown>((resolve) => {
      engine.on("tool:error", ({ result }) => resolve(result.error?.code));
    });
    engine.on("tool:pre", () => controller.abort());
    const call = client.callTool({ name: "slow", arguments: {} }, undefined, { signal: controller.signal });
    await expect(call).rejects.toThrow();
    expect(await failed).toBe("cancelled");
  });

  test("is told when tools come and go", async () => {
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
    await engine.register({ name: "new_one", description: "Is new.", source: "export default () => 1;" });
    await expect.poll(() => changes).toBe(1);
    await engine.unregister("new_one");
    await expect.poll(() => changes).toBe(2);
  });
});
