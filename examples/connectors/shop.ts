/** The API of a shop: a stranger's, so far as the engine is concerned. It takes requests with its key only. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export const KEY = "key-of-the-shop";
const orders = Array.from({ length: 40 }, (_, at) => ({
  id: at + 1,
  status: at % 3 === 0 ? "open" : "sent",
  total: 5 * at,
}));

/** Listens on any port. `requests` are those that it answered. */
export async function openShop(): Promise<{ origin: string; requests: string[]; close: () => void }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://shop");
    if (request.headers["x-key"] !== KEY) return void response.writeHead(401).end("who are you?");
    requests.push(`${request.method} ${request.url}`);
    if (request.method === "POST") return void response.writeHead(201).end();
    const status = searchParams.get("status");
    const found = pathname === "/orders" ? orders.filter((order) => status === null || order.status === status) : [];
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, requests, close: () => server.close().closeAllConnections() };
}
