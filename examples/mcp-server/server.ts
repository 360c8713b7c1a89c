/** An MCP server over stdin and stdout. Stdout belongs to the protocol: log to stderr. */
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createEngine } from "glovebox";
import { createMcpServer } from "glovebox/mcp";

const engine = await createEngine({ tools: ["./tools"], workers: 1 });
const server = createMcpServer(engine, { name: "greeter", version: "1.0.0" });
const close = server.onclose;
server.onclose = () => {
  close?.();
  void engine.close();
};
await server.connect(new StdioServerTransport());
process.stdin.once("end", () => void server.close());
