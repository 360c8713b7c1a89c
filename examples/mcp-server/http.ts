/** An MCP server over Streamable HTTP, at `/mcp` of a server of your own. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Engine } from "glovebox";
import { toMcpHandler } from "glovebox/handlers";

const users = new Map([["token-of-ada", "ada"]]);

/** Listens on any port, and says where. */
export async function listen(engine: Engine): Promise<{ url: string; close: () => Promise<void> }> {
  const mcp = toMcpHandler(engine, {
    authenticate: ({ headers }) => {
      const user = users.get(headers.get("authorization")?.replace("Bearer ", "") ?? "");
      return user === undefined ? null : { name: user, tenant: user, roles: ["execute"] };
    },
  });
  const server = createServer((request, response) => {
    if (request.url === "/mcp") mcp.node(request, response);
    else response.writeHead(404).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async (): Promise<void> => {
    await mcp.close();
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close };
}
