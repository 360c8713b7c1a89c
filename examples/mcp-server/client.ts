import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createEngine } from "glovebox";
import { listen } from "./http.ts";

async function demonstrate(name: string, transport: Transport): Promise<void> {
  const client = new Client({ name: "example", version: "1.0.0" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const greeted = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
  const failed = await client.callTool({ name: "greet", arguments: {} });
  console.log(`${name}: ${tools.map((tool) => tool.name).join(", ")}`);
  console.log(" ", greeted.structuredContent);
  console.log("  is an error:", failed.isError);
  await client.close();
}

// The client starts the server as a process and speaks over its stdin and stdout.
await demonstrate("stdio", new StdioClientTransport({ command: process.execPath, args: ["server.ts"] }));

// The HTTP server is in this process, and knows the user by a token.
await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
const server = await listen(engine);
const authProvider = { token: async () => "token-of-ada" };
await demonstrate("http", new StreamableHTTPClientTransport(new URL(server.url), { authProvider }));
await server.close();
