/** An MCP server over stdin and stdout. Stdout belongs to the protocol: log to stderr. */
import { once } from "node:events";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createEngine } from "glovebox";
import { createMcpServer } from "glovebox/mcp";

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
serveStdio(() => createMcpServer(engine, { name: "greeter", version: "1.0.0" }));
// The client ends the server by closing its stdin.
await once(process.stdin, "end");
