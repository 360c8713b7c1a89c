import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

test("an MCP client finds the tools and calls one", async () => {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: "npx", args: ["glovebox", "mcp", "tools"] }));
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["greet"],
  );
  const greeted = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
  assert.deepEqual(greeted.structuredContent, { text: "Hello, Ada!" });
  await client.close();
});
