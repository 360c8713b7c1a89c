import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Maximum number of concurrent requests of one connection: their responses wait for each other anyway. */
const AT_ONCE_MAX = 16;
/** Maximum number of further requests in one chunk; a connection that sends more is closed. */
const WAITING_MAX = 1_024;

interface Connection {
  unanswered: number;
  /** The requests that wait until others are answered. While there are any, no more is read. */
  readonly waiting: (() => void)[];
  readonly onEnd: () => void;
}

/**
 * Lets a connection have no more than a few answers in memory: one packet may hold hundreds of requests, whose client
 * reads none of the answers. An answer has ended when the system has taken it.
 */
export function limitPipelining(app: FastifyInstance): void {
  const connections = new WeakMap<Socket, Connection>();
  app.addHook("onRequest", ({ raw: { socket } }, reply, next) => {
    let connection = connections.get(socket);
    if (connection === undefined) connections.set(socket, (connection = createConnection(socket)));
    reply.raw.once("close", connection.onEnd);
    if (connection.unanswered++ < AT_ONCE_MAX) return next();
    connection.waiting.push(next);
    if (connection.waiting.length > WAITING_MAX) socket.destroy();
    else socket.pause();
  });
}

function createConnection(socket: Socket): Connection {
  const waiting: (() => void)[] = [];
  const connection = {
    unanswered: 0,
    waiting,
    onEnd: () => {
      connection.unanswered--;
      const next = waiting.shift();
      next?.();
      if (next !== undefined && waiting.length === 0) socket.resume();
    },
  };
  // Requests that are answered have their connection read on. Those that wait are behind them, whole but for the last.
  socket.on("resume", () => {
    if (waiting.length > 0) socket.pause();
  });
  return connection;
}
