import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";

/** A request as a server saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

export interface TestServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly seen: readonly Seen[];
  /** Connections that were ever made to it. */
  readonly connections: () => number;
  /** Connections that are open. */
  readonly open: () => number;
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => unknown;

/** A server of HTTP on a loopback address. */
export async function serve(handler: Handler): Promise<TestServer> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    // Of a request that is cut off nobody needs the body.
    const onBody = (body: string) => {
      const { method = "", url = "", headers } = request;
      seen.push({ method, url, headers, body });
      return handler(request, response, body);
    };
    text(request)
      .then(onBody)
      .catch(() => response.destroy());
  });
  return await listen(server, seen);
}

/** A server that says what it likes. */
export async function serveRaw(onConnection: (socket: Socket) => void): Promise<TestServer> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => onConnection(socket));
  });
  return await listen(server, []);
}

async function listen(server: ReturnType<typeof createTcpServer>, seen: readonly Seen[]): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    seen,
    connections: () => connections,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
