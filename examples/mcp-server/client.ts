import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createEngine } from "glovebox";
import { createServer } from "glovebox/server";

async function demonstrate(name: string, transport: Transport): Promise<void> {
  const client = new Client({ name: "example", version: "1.0.0" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const { content } = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
  const failed = await client.callTool({ name: "greet", arguments: {} });
  console.log(
    name,
    tools.map((tool) => tool.name),
    content[0],
    failed.isError,
  );
  await client.close();
}

// The client starts the server as a process and speaks over its stdin and stdout.
await demonstrate("stdio", new StdioClientTransport({ command: process.execPath, args: ["server.ts"] }));

// The HTTP server of Glovebox serves MCP at /mcp. It closes its engine.
await using server = await createServer(await createEngine({ tools: ["./tools"], workers: 1 }), { port: 0 });
await demonstrate("http", new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
