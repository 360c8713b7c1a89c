import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

test("an MCP client finds the tools and calls one", async () => {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: "npx", args: ["glovebox", "mcp", "tools"] }));
  try {
    const { tools } = await client.listTools();
    // `read_output`, with which a model reads what was too long for one answer, is the server's own.
    assert.ok(tools.some(({ name }) => name === "greet"));
    const greeted = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
    assert.deepEqual(greeted.structuredContent, { text: "Hello, Ada!" });
  } finally {
    await client.close();
  }
});
