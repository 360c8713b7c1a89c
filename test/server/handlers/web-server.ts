/** A Node server for handlers of `Request` and `Response`, as runtimes have them. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable, Writable } from "node:stream";

/** Makes a server that answers with a handler. A client that goes away aborts its request. */
export function createWebServer(handler: (request: Request) => Response | Promise<Response>): Server {
  return createServer((request, response) => void answer(handler, request, response));
}

async function answer(
  handler: (request: Request) => Response | Promise<Response>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const { status, headers, body } = await handler(toRequest(request, gone.signal));
  if (response.destroyed) return void body?.cancel().catch(() => undefined);
  response.writeHead(status, Object.fromEntries(headers));
  response.flushHeaders();
  if (body === null) return void response.end();
  await body.pipeTo(Writable.toWeb(response)).catch(() => response.destroy());
}

function toRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", headers, url = "/" } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  const named = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(`http://${headers.host ?? "localhost"}${url}`, {
    method,
    signal,
    headers: named,
    ...(hasBody ? { body: Readable.toWeb(request) as ReadableStream<Uint8Array>, duplex: "half" } : {}),
  });
}

/** Listens on any port. Returns the address. */
export async function listen(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const bound = server.address();
  return `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`;
}
