import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Requests of one connection that are worked on at once: their answers wait for each other anyhow. */
export const AT_ONCE_MAX = 16;

interface Connection {
  unanswered: number;
  /** The requests that wait until others are answered. */
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
    if (connection === undefined) connections.set(socket, (connection = createConnection()));
    reply.raw.once("close", connection.onEnd);
    if (connection.unanswered++ < AT_ONCE_MAX) next();
    else connection.waiting.push(next);
  });
}

function createConnection(): Connection {
  const waiting: (() => void)[] = [];
  const connection = {
    unanswered: 0,
    waiting,
    onEnd: () => {
      connection.unanswered--;
      waiting.shift()?.();
    },
  };
  return connection;
}
