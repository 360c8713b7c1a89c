import type { Server } from "node:http";
import type { Socket } from "node:net";
import { UNREAD_MS } from "./answers.ts";
import { refuseConnection } from "./client-error.ts";

/** What a server allows a connection. Times in milliseconds. */
export interface ConnectionLimits {
  /** Connections at once; one more is answered 503. Default 20,000. */
  readonly maxConnections: number;
  /** Until a request's head is there. Default 15,000. */
  readonly headersMs: number;
  /** Until all of a request is there. Default 120,000. */
  readonly requestMs: number;
  /** Between two requests. Default 72,000: longer than most load balancers wait, so that they hang up first. */
  readonly keepAliveMs: number;
  /** How long a client may read nothing of an answer that is complete. Default 60,000. */
  readonly unreadMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = Object.freeze({
  maxConnections: 20_000,
  headersMs: 15_000,
  requestMs: 120_000,
  keepAliveMs: 72_000,
  unreadMs: UNREAD_MS,
});

/** Connections that are being told that there is no room. Beyond them nothing is told. */
const REFUSED_AT_ONCE = 256;

/** Takes no more connections than a server may have, and tells how many there are. */
export function limitConnections(server: Server, max: number, tell: (change: 1 | -1) => void): void {
  let open = 0;
  const serve = server.listeners("connection");
  server.removeAllListeners("connection");
  server.maxConnections = max + REFUSED_AT_ONCE;
  server.on("connection", (socket: Socket) => {
    if (open >= max) return refuseConnection(socket);
    open++;
    tell(1);
    socket.once("close", () => {
      open--;
      tell(-1);
    });
    for (const each of serve) each.call(server, socket);
  });
}
