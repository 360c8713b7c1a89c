import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";

/** Default of the maximum time to finish running calls when a server or a mount stops, in milliseconds. */
export const DRAIN_DEFAULT_MS = 5_000;
/** Maximum time for clients to read the last responses after all calls have ended, in milliseconds. */
export const LAST_ANSWERS_MS = 1_000;
/** Time before a stopping server closes an idle connection: a request may be on its way. */
const IDLE_MS = 250;
/** Time before a stopping server closes a connection with an incomplete request and no new data. */
const SILENT_MS = 1_000;
const LOOK_EVERY_MS = 25;

declare module "fastify" {
  interface FastifyInstance {
    drain: Drain;
  }
}

interface Connection {
  /** The latest request. */
  request: IncomingMessage | null;
  /** The response to the latest request. Responses keep the order of their requests, so it is the last one sent. */
  answer: ServerResponse | null;
  /** Whether that request is the last one accepted; its response says `connection: close`. */
  isOver: boolean;
  /** Bytes received at the last check that saw progress, and the time of that check. */
  readBytes: number;
  readAtMs: number;
}

/**
 * The connections of a server, which can stop without losing a request: each connection accepts one more, and its
 * response says `connection: close`. Requests pipelined behind that one are not started, which pipelining clients must
 * expect.
 */
class Drain {
  readonly #all = new Map<Socket, Connection>();
  /** Responses to requests after the last accepted one. */
  readonly #beyond = new WeakSet<ServerResponse>();
  #isEnding = false;

  constructor({ server }: FastifyInstance) {
    server.on("connection", (socket: Socket) => {
      this.#all.set(socket, { request: null, answer: null, isOver: false, readBytes: -1, readAtMs: 0 });
      socket.once("close", () => this.#all.delete(socket));
    });
    server.prependListener("request", (request, response) => this.#take(request, response));
  }

  /** Whether the request came after the last one that its connection accepts. */
  isBeyond(response: ServerResponse): boolean {
    return this.#beyond.has(response);
  }

  /**
   * Starts to stop: each connection accepts one more request, or none if its current response can still say
   * `connection: close`.
   */
  begin(): void {
    this.#isEnding = true;
    for (const [socket, connection] of this.#all) endWith(socket, connection);
  }

  /** Closes idle connections. Resolves when none is left, or after `forMs`. */
  async wait(forMs: number): Promise<void> {
    const untilMs = performance.now() + forMs;
    while (this.#all.size > 0 && performance.now() < untilMs) {
      for (const [socket, connection] of this.#all) if (isStill(socket, connection)) socket.destroy();
      await delay(LOOK_EVERY_MS);
    }
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#all.get(request.socket);
    if (connection === undefined) return;
    // Decide on arrival: the request may wait behind others before it starts.
    if (connection.isOver) return void this.#beyond.add(response);
    connection.request = request;
    connection.answer = response;
    if (this.#isEnding) endWith(request.socket, connection);
  }
}

/**
 * Lets an app stop. Requests beyond the last accepted one are read and discarded; hooks added later do not run for
 * them.
 */
export function addDrain(app: FastifyInstance): void {
  const drain = new Drain(app);
  app.decorate("drain", drain);
  app.addHook("onRequest", (request, reply, next) => {
    if (!drain.isBeyond(reply.raw)) return next();
    reply.hijack();
    request.raw.resume();
  });
}

/** Marks the current response as the connection's last, if its headers are not sent yet. */
function endWith(socket: Socket, connection: Connection): void {
  const { answer } = connection;
  if (answer === null || answer.headersSent || answer.closed) return;
  answer.shouldKeepAlive = false;
  connection.isOver = true;
  // Node closes a connection right after its last response. If unread input has arrived by then, the system resets the
  // connection and the client may lose the response: so only half-close, and let the client close.
  socket.destroySoon = () => void socket.end();
}

/** Whether a connection is idle, or its request is incomplete, and no new data has arrived for a while. */
function isStill(socket: Socket, connection: Connection): boolean {
  const { request, answer, readBytes, readAtMs } = connection;
  const nowMs = performance.now();
  const isIdle = answer === null || answer.closed;
  if (socket.bytesRead !== readBytes || !(isIdle || request?.complete === false)) {
    connection.readBytes = socket.bytesRead;
    connection.readAtMs = nowMs;
    return false;
  }
  return nowMs - readAtMs >= (isIdle ? IDLE_MS : SILENT_MS);
}
