import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";

/** How long a connection may stay without a request while the server stops: one may be on its way. */
const IDLE_MS = 250;
/** How long no more of a request may come that is not whole yet. */
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
  /** Whether that request is the last that is taken: its answer says so. */
  isOver: boolean;
  /** How much had been read when somebody looked, and since when it is no more. */
  readBytes: number;
  readAtMs: number;
}

/**
 * The connections of a server. It can stop without losing a request: on each connection one more is taken, and its answer
 * says that it was the last. What a client sent behind that one is not begun, as clients that pipeline have to expect.
 */
class Drain {
  readonly #all = new Map<Socket, Connection>();
  /** The answers to requests behind the last that their connections take. */
  readonly #beyond = new WeakSet<ServerResponse>();
  #isEnding = false;

  constructor({ server }: FastifyInstance) {
    server.on("connection", (socket: Socket) => {
      this.#all.set(socket, { request: null, answer: null, isOver: false, readBytes: -1, readAtMs: 0 });
      socket.once("close", () => this.#all.delete(socket));
    });
    server.prependListener("request", (request, response) => this.#take(request, response));
  }

  /** Whether a request came behind the last that its connection takes. */
  isBeyond(response: ServerResponse): boolean {
    return this.#beyond.has(response);
  }

  /** From now on each connection takes one more request, or none where it has one that can still say so. */
  begin(): void {
    this.#isEnding = true;
    for (const [socket, connection] of this.#all) endWith(socket, connection);
  }

  /** Closes connections on which nothing comes any more. Resolves when none is left, or when the time is over. */
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
    // It is told by when it came: it may wait behind others before it is begun.
    if (connection.isOver) return void this.#beyond.add(response);
    connection.request = request;
    connection.answer = response;
    if (this.#isEnding) endWith(request.socket, connection);
  }
}

/** Lets an app stop. What nobody is to answer any more is read and thrown away: all that is added later does not see it. */
export function addDrain(app: FastifyInstance): void {
  const drain = new Drain(app);
  app.decorate("drain", drain);
  app.addHook("onRequest", (request, reply, next) => {
    if (!drain.isBeyond(reply.raw)) return next();
    reply.hijack();
    request.raw.resume();
  });
}

/** Lets the answer that is under way be the last, where it can still say so. */
function endWith(socket: Socket, connection: Connection): void {
  const { answer } = connection;
  if (answer === null || answer.headersSent || answer.closed) return;
  answer.shouldKeepAlive = false;
  connection.isOver = true;
  // Node closes a connection after its last answer at once. Where the client has sent more by then, the system resets it,
  // and the client may lose what it has not read: so only what goes out ends, and the client closes.
  socket.destroySoon = () => void socket.end();
}

/** Whether a connection has nothing to be answered, and nothing has come for a while. */
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
