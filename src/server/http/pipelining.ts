import type { ServerResponse } from "node:http";
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

declare module "fastify" {
  interface FastifyInstance {
    pipelining: Pipelining;
  }
}

/**
 * Limits the responses that a connection holds in memory: one packet may contain hundreds of requests from a client
 * that reads no response. A response ends when the operating system has accepted all of it.
 */
class Pipelining {
  readonly #connections = new WeakMap<Socket, Connection>();

  /** Counts a request that may begin now. `false`, and not counted: it has to `enter` and wait. */
  mayBegin(response: ServerResponse): boolean {
    const connection = this.#connectionOf(response);
    if (connection.unanswered >= AT_ONCE_MAX) return false;
    count(connection, response);
    return true;
  }

  /** Calls `next` when the request may begin. */
  enter(response: ServerResponse, next: () => void): void {
    if (this.mayBegin(response)) return next();
    const connection = this.#connectionOf(response);
    count(connection, response);
    connection.waiting.push(next);
    const { socket } = response.req;
    if (connection.waiting.length > WAITING_MAX) socket.destroy();
    else socket.pause();
  }

  #connectionOf({ req: { socket } }: ServerResponse): Connection {
    let connection = this.#connections.get(socket);
    if (connection === undefined) this.#connections.set(socket, (connection = createConnection(socket)));
    return connection;
  }
}

/** Limits the concurrent requests of each connection of an app. */
export function limitPipelining(app: FastifyInstance): void {
  const pipelining = new Pipelining();
  app.decorate("pipelining", pipelining);
  app.addHook("onRequest", (_request, { raw }, next) => pipelining.enter(raw, next));
}

function count(connection: Connection, response: ServerResponse): void {
  connection.unanswered++;
  response.on("close", connection.onEnd);
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
