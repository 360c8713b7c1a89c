import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";

export interface SocketServer extends AsyncDisposable {
  /** `http://127.0.0.1:1234` */
  readonly origin: string;
  /** `ws://127.0.0.1:1234` */
  readonly url: string;
  /** Handshakes so far. */
  readonly handshakes: () => number;
  /** Connections that are open. */
  readonly open: () => number;
}

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A server of WebSockets on a loopback address. */
export async function serveSockets(
  onSocket: (socket: WebSocket, request: IncomingMessage) => void,
  options: ServerOptions = {},
): Promise<SocketServer> {
  const sockets = new WebSocketServer({ noServer: true, ...options });
  return await listen((request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (opened) => onSocket(opened, request));
  });
}

/** A server that says what it likes, once it has accepted the handshake with `headers`. */
export async function serveFrames(onOpen: (socket: Duplex) => void, headers = ""): Promise<SocketServer> {
  return await listen((request, socket) => {
    const accept = hash("sha1", `${request.headers["sec-websocket-key"]}${GUID}`, "base64");
    const head = `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n`;
    socket.write(`${head}sec-websocket-accept: ${accept}\r\n${headers}\r\n`);
    socket.resume();
    onOpen(socket);
  });
}

/** A server that answers a handshake as it likes. */
export async function serveAnswer(answer: (socket: Duplex) => void): Promise<SocketServer> {
  return await listen((_request, socket) => answer(socket.resume()));
}

/** A frame of a server. */
export function frame(opcode: number, payload: Buffer | string, isFinal = true): Buffer {
  const bytes = Buffer.from(payload);
  const head = Buffer.alloc(bytes.length < 126 ? 2 : 10);
  head[0] = (isFinal ? 0x80 : 0) | opcode;
  head[1] = bytes.length < 126 ? bytes.length : 127;
  if (bytes.length >= 126) head.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([head, bytes]);
}

async function listen(
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<SocketServer> {
  const open = new Set<Socket>();
  let handshakes = 0;
  const server = createServer((_request, response) => response.end());
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    handshakes++;
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    onUpgrade(request, socket, head);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    url: `ws://127.0.0.1:${port}`,
    handshakes: () => handshakes,
    open: () => open.size,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
