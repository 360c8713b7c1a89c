import type { Server } from "node:http";
import type { Socket } from "node:net";
import { UNREAD_MS } from "./answers.ts";
import { refuseConnection } from "./client-error.ts";

/** Limits of a server's connections. Times in milliseconds. */
export interface ConnectionLimits {
  /** Maximum number of connections; further ones get 503. Default 20,000. */
  readonly maxConnections: number;
  /** Maximum time to receive a request's head. Default 15,000. */
  readonly headersMs: number;
  /** Maximum time to receive a complete request. Default 120,000. */
  readonly requestMs: number;
  /** Maximum idle time between requests. Default 72,000: above that of most load balancers, which close first. */
  readonly keepAliveMs: number;
  /** Maximum time without reads of a complete response by its client. Default 60,000. */
  readonly unreadMs: number;
  /**
   * Maximum length of all responses that their clients have not read, in UTF-16 units. Beyond it, connections of the
   * tenant with the most unread responses are closed. Default 536,870,912.
   */
  readonly unreadChars: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = Object.freeze({
  maxConnections: 20_000,
  headersMs: 15_000,
  requestMs: 120_000,
  keepAliveMs: 72_000,
  unreadMs: UNREAD_MS,
  unreadChars: 512 * 1024 * 1024,
});

/** Maximum number of connections being refused with 503; further ones are closed without a response. */
const REFUSED_AT_ONCE = 256;

/** Limits a server's connections. `tell` receives each change of their number. */
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
