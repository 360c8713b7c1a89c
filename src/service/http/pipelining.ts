import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Maximum number of concurrent requests of one connection: their responses wait for each other anyway. */
const AT_ONCE_MAX = 16;
/** Maximum number of further requests in one chunk; a connection that sends more is closed. */
const WAITING_MAX = 1_024;

interface Connection {
  unanswered: number;
  /** Requests that wait for earlier responses. While any wait, the connection is paused. */
  readonly waiting: (() => void)[];
  readonly onEnd: () => void;
}

/**
 * Limits the responses that a connection holds in memory: one packet may contain hundreds of requests from a client
 * that reads no response. A response ends when the system has accepted all of it.
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
  // Node resumes a connection after its responses. The waiting requests were already read, except for the last one's
  // body.
  socket.on("resume", () => {
    if (waiting.length > 0) socket.pause();
  });
  return connection;
}
